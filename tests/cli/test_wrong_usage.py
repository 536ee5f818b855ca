"""Values that no command can use: told before anything is asked, with the option and its range."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from muster.cli import main


def _run(*arguments: str) -> int:
    sys.argv = ["muster", *arguments]
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    for name in ("MUSTER_NATS_URL", "MUSTER_STATE", "MUSTER_LANG", "LANG", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "option", "words"),
    [
        (("up", "--port", "99999"), "--port", "65535"),
        (("up", "--port", "-1"), "--port", "0"),
        (("up", "--nats-port", "70000"), "--nats-port", "65535"),
        (("provision", "--replicas", "0"), "--replicas", "1"),
        (("provision", "--replicas", "6"), "--replicas", "5"),
        (("logs", "j1", "--attempt", "0"), "--attempt", "1"),
        (("parked", "show", "0"), "NUMBER", "1"),
        (("node", "reclaim", "n1", "--notice", "9d"), "--notice", "at most"),
        (("node", "drain", "n1", "--pool", "a.b"), "pool", "pattern"),
    ],
)
def test_a_number_out_of_range_is_wrong_usage(
    arguments: tuple[str, ...], option: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(*arguments) == 2
    said = capsys.readouterr().err
    assert option in said
    assert words in said
    assert "should not happen" not in said


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_parked_without_a_command_lists(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("parked", *options) == 5
    said = "".join(capsys.readouterr())
    assert "no Muster runs" in said
