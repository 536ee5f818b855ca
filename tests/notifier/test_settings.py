"""Settings of the notifier."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from muster.notifier.settings import NotifierSettings

HOOK = "/open-apis/bot/v2/hook/abc"


def test_defaults_tell_nobody_and_allow_nothing_extra() -> None:
    settings = NotifierSettings()
    assert settings.rules_file is None
    assert settings.allowlist.extra == frozenset()
    assert settings.claim_lease == timedelta(seconds=60)
    assert str(settings.zone) == "UTC"


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "MUSTER_NOTIFIER_EXTRA_ADDRESSES", "http://127.0.0.1:8099, https://b.example"
    )
    monkeypatch.setenv("MUSTER_NOTIFIER_DATABASE_URL", "postgresql+psycopg://u:pw@h/d")
    monkeypatch.setenv("MUSTER_NOTIFIER_TIME_ZONE", "Asia/Shanghai")
    settings = NotifierSettings()
    assert settings.extra_addresses == ("http://127.0.0.1:8099", "https://b.example")
    assert settings.allowlist.allows("http://127.0.0.1:8099" + HOOK)
    assert "pw" not in repr(settings)


@pytest.mark.case("NTF-14")
@pytest.mark.parametrize(
    "values",
    [
        {"extra_addresses": ("http://10.0.0.1:8099",)},
        {"extra_addresses": ("http://chat.example.com",)},
        {"extra_addresses": ("http://127.0.0.1:8099/path",)},
        {"extra_addresses": ("127.0.0.1",)},
        {"time_zone": "Mars/Base"},
        {"time_zone": "../etc/passwd"},
        {"send_timeout_s": 20, "claim_lease_s": 29.9},
        {"senders": 0},
        {"senders": 513},
        {"group_wait_s": -1},
        {"link_job": "ftp://x/{job}"},
        {"send_timeout_s": 0},
    ],
)
def test_what_cannot_be(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NotifierSettings.model_validate(values)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"])
def test_plain_http_on_loopback(host: str) -> None:
    settings = NotifierSettings(extra_addresses=(f"http://{host}:8099",))
    assert settings.allowlist.allows(f"http://{host}:8099{HOOK}")


@pytest.mark.case("NTF-14")
@pytest.mark.parametrize(("lease", "fits"), [(30.0, True), (29.9, False)])
def test_a_lease_must_outlive_a_send(lease: float, fits: bool) -> None:
    values = {"send_timeout_s": 20.0, "claim_lease_s": lease}
    if fits:
        assert NotifierSettings(**values).claim_lease == timedelta(seconds=lease)  # type: ignore[arg-type]
    else:
        with pytest.raises(ValidationError, match="claim_lease_s must be at least send_timeout_s"):
            NotifierSettings(**values)  # type: ignore[arg-type]
