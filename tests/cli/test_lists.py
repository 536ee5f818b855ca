"""How much of a list is shown: people get a page and are told of the rest, programs get all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest

from muster.cli.commands import jobs
from muster.cli.commands.jobs import LIMIT, Wanted
from muster.cli.session import Session
from muster.domain.state import JobState
from tests.support.lives import START, Life

COUNT = LIMIT + 5


class Many:
    """A Muster with more jobs than a page."""

    async def jobs(self, tenant: str | None) -> list[JobState]:
        return [Life(name=f"job{number:03d}").state for number in range(COUNT)]

    async def now(self) -> datetime:
        return START


@pytest.mark.parametrize(
    ("as_json", "limit", "count"), [(True, None, COUNT), (True, 3, 3), (False, LIMIT, LIMIT)]
)
async def test_programs_get_every_job(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
    limit: int | None,
    count: int,
) -> None:
    @asynccontextmanager
    async def reach(session: Session) -> AsyncIterator[Many]:
        yield Many()

    monkeypatch.setattr(jobs, "reach", reach)
    await jobs._list(Session(as_json=as_json), Wanted(), limit)
    said = capsys.readouterr().out
    if as_json:
        assert len(json.loads(said)) == count
    else:
        assert said.count("job0") == count
        assert f"{COUNT - LIMIT} more; see them with --limit" in said
