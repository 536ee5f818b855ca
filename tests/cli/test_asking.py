"""Several jobs asked about at once: each gets its answer, and one refusal stops no other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from muster.cli import asking
from muster.cli.asking import ask_about
from muster.cli.choosing import choose
from muster.cli.commands import submit
from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.session import Session
from muster.cli.specs import Job
from muster.contracts.requests import Answer, Request, Stop
from muster.domain.rules import violation
from muster.domain.state import JobState
from tests.support.lives import Life, spec

JOBS = [Life(name=name).state for name in ("a", "b", "c")]
NO = violation("E_NAME_INVALID", "$.job")


class OneRefuses:
    """A Muster that refuses whatever is asked about job b."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def find(self, text: str, tenant: str | None) -> JobState:
        return choose(JOBS, text)

    async def state(self, tenant: str, job: str) -> JobState:
        return choose(JOBS, job)

    async def request(self, tenant: str, body: Request) -> Answer:
        name = body.job if isinstance(body, Stop) else str(body.model_dump()["spec"]["name"])
        self.asked.append(name)
        return Answer(
            request="r",
            tenant=tenant,
            verb=body.verb,
            accepted=name != "b",
            job=name,
            violations=(NO,) if name == "b" else (),
            at=datetime(2030, 1, 1, tzinfo=UTC),
        )


@pytest.fixture
def muster(monkeypatch: pytest.MonkeyPatch) -> OneRefuses:
    made = OneRefuses()

    @asynccontextmanager
    async def reach(session: Session) -> AsyncIterator[OneRefuses]:
        yield made

    monkeypatch.setattr(asking, "reach", reach)
    monkeypatch.setattr(submit, "reach", reach)
    return made


async def _stop(*jobs: str, as_json: bool = False) -> Exit:
    session = Session(as_json=as_json)
    return await ask_about(session, jobs, None, "stop", lambda job: Stop(user="ann", job=job.job))


async def test_a_refusal_stops_no_other(
    muster: OneRefuses, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await _stop("a", "b", "typo", "c") is Exit.FAILED
    assert muster.asked == ["a", "b", "c"]
    out, err = capsys.readouterr()
    assert [line.split()[2] for line in out.splitlines()] == ["a", "c"]
    assert "the stop of b was refused" in err
    assert "there is no job typo" in err


async def test_programs_get_an_entry_for_each(
    muster: OneRefuses, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await _stop("a", "b", "c", as_json=True) is Exit.FAILED
    told = json.loads(capsys.readouterr().out)
    assert [entry["accepted"] for entry in told] == [True, False, True]
    assert told[1]["error"]["violations"][0]["code"] == NO.code


async def test_one_alone_fails_as_a_whole(muster: OneRefuses) -> None:
    assert await _stop("a", "c") is Exit.DONE
    with pytest.raises(Refusal):
        await _stop("b")
    with pytest.raises(CliError):
        await _stop("typo")


async def test_a_refused_job_of_a_file_stops_no_other(
    muster: OneRefuses, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [Job(name, {"name": name}, spec(name=name)) for name in ("a", "b", "c")]
    code = await submit._submit(Session(as_json=True), jobs, "acme", follow=False)
    assert code is Exit.FAILED
    assert muster.asked == ["a", "b", "c"]
    told = json.loads(capsys.readouterr().out)
    assert [entry.get("job") for entry in told] == ["a", None, "c"]
