"""What a server refuses the command line for: named with its remedy, in the language spoken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.cli import failures, texts
from muster.cli.checkup.finding import Severity, refused
from muster.cli.checkup.server import counts, storage
from muster.cli.commands.doctor import _look
from muster.cli.session import Session
from muster.domain.errors import MusterError, Permanent, Temporary
from muster.domain.troubles import TROUBLES, Trouble, explained, unreachable
from tests.support.configured import ConfiguredServer

USERS = 'authorization { users: [ {user: "muster", password: "right"} ] }\n'
BOTH = pytest.mark.parametrize(("language", "place"), [("en", 0), ("zh", 1)])


@pytest.mark.sibling_of("BUS-08")
@BOTH
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.code)
def test_a_command_names_cause_and_remedy(
    trouble: Trouble, language: str, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    texts.use(language)
    words = f"it says: {trouble.signs[0]}"
    for error in (Temporary(explained(words)), Permanent(explained(words))):
        failures.report(error, Session(as_json=True))
        told = json.loads(capsys.readouterr().out)["error"]
        assert trouble.cause[place] in told["message"]
        assert words in told["message"]
        assert told["fix"] == trouble.remedy[place]
        if place:
            assert trouble.cause[0] not in told["message"]


@BOTH
def test_the_doctor_names_them_where_something_does_not_answer(language: str, place: int) -> None:
    texts.use(language)
    trouble = TROUBLES[0]
    found = refused("server.unreachable", explained(f"closed ({trouble.signs[0]})"))
    assert (found.key, found.severity) == ("trouble", Severity.PROBLEM)
    assert found.message.startswith(trouble.cause[place])
    assert found.remedy == trouble.remedy[place]
    other = refused("server.unreachable", unreachable(OSError("no route")))
    assert other.key == "server.unreachable"
    assert "no route" in other.message


@pytest.mark.sibling_of("BUS-08")
async def test_the_doctor_on_a_server_that_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ConfiguredServer(tmp_path, USERS) as server:
        monkeypatch.setenv("MUSTER_NATS_URL", server.url_of("muster", "wrong"))
        monkeypatch.setattr("muster.cli.connecting.CONNECT_S", 1.0)
        findings = await _look(Session())
    (problem,) = [one for one in findings if one.severity is Severity.PROBLEM]
    assert "does not accept these credentials" in problem.message
    assert "MUSTER_NATS_CREDENTIALS" in problem.remedy


@pytest.mark.case("BUS-11")
@pytest.mark.parametrize(
    ("used", "limit", "severity"),
    [
        (99, -1, Severity.FINE),
        (69, 100, Severity.FINE),
        (70, 100, Severity.WARNING),
        (85, 100, Severity.WARNING),
        (86, 100, Severity.PROBLEM),
    ],
)
def test_an_account_that_fills_up_is_told_of(used: int, limit: int, severity: Severity) -> None:
    found = storage({"storage": used, "limits": {"max_storage": limit}})
    assert found.severity is severity


@pytest.mark.sibling_of("BUS-08")
@pytest.mark.parametrize(("limit", "told"), [(-1, False), (7, False), (6, True)])
@BOTH
def test_an_account_with_too_few_streams_is_told_of(
    limit: int, told: bool, language: str, place: int
) -> None:
    texts.use(language)
    found = counts({"streams": 6, "limits": {"max_streams": limit}})
    assert [one.key for one in found] == (["storage.count"] if told else [])
    assert all("max_streams" in one.remedy for one in found)


def test_errors_without_such_a_cause_stay_what_they_were(
    capsys: pytest.CaptureFixture[str],
) -> None:
    errors: tuple[MusterError, ...] = (Temporary("nobody answers"), Permanent("not so"))
    for error, code in zip(errors, ("unreachable", "refused"), strict=True):
        failures.report(error, Session(as_json=True))
        assert json.loads(capsys.readouterr().out)["error"]["code"] == code
