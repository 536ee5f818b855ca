"""Settings from the environment: what cannot be is refused when they are read, by name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from muster.runtime.settings import HostSettings


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_cannot_be_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("MUSTER_HTTP_PORT", port)
    with pytest.raises(ValidationError, match="http_port"):
        HostSettings()


@pytest.mark.parametrize("port", ["0", "65535"])
def test_a_port_that_can_be_is_taken(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("MUSTER_HTTP_PORT", port)
    assert HostSettings().http_port == int(port)
