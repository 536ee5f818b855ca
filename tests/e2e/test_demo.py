"""The demo, as a visitor runs it: once through, once more, and cleaned up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.harness import Muster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def test_the_demo_proves_what_it_shows_and_cleans_up(tmp_path: Path) -> None:
    muster = Muster(tmp_path)
    try:
        done = await muster.run("demo", "--json", "--state", str(muster.state), within=110)
        assert done.code == 0, done
        found = done.json
        assert found["passed"]
        assert found["seconds"] < 90
        assert {judged["check"] for judged in found["judgements"]} == {
            "outcome",
            "saved",
            "continued",
            "verified",
            "calm",
            "finished",
            "letters",
            "signed",
        }
        assert all(letter["signature_verified"] for letter in found["letters"])
        assert found["runs"]["2"]["loaded"] == found["runs"]["1"]["saved"]
    finally:
        cleaned = await muster.run("demo", "--clean", "--state", str(muster.state))
    assert cleaned.code == 0
    assert not muster.state.exists()


async def test_a_folder_that_is_no_demo_is_never_deleted(tmp_path: Path) -> None:
    muster = Muster(tmp_path)
    muster.state.mkdir()
    precious = muster.state / "precious"
    precious.touch()
    for arguments in (("--clean",), ()):
        done = await muster.run("demo", "--state", str(muster.state), *arguments)
        assert done.code == 1
        assert "will not be deleted" in done.err
    assert precious.exists()
