"""Following one job: its events, why it waits, every line of its workers, and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from muster.cli import following
from muster.cli.following import follow_job
from muster.cli.reach import Reach
from muster.cli.tailing import Printed, Tail, sources
from muster.cli.waiting import elsewhere
from muster.contracts.alarms import LogLines
from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.nodes import NodeCondition, NodeShape, NodeState
from muster.domain.phases import Phase
from muster.domain.pools import PoolSummary, WaitingJob
from muster.domain.state import JobState
from muster.log import Recorded
from tests.support.lives import Life, auto_queue, spec


class Story:
    """A Muster that has one job, whose facts the test lets happen."""

    def __init__(self, log_folder: Path | None = None) -> None:
        self.log_folder = log_folder
        self.life = Life(spec(auto_queue=auto_queue().model_dump()))
        self.summary: PoolSummary | None = None
        self.there: list[NodeState] = []
        self._events: asyncio.Queue[Recorded] = asyncio.Queue()
        self._lines: asyncio.Queue[LogLines] = asyncio.Queue()
        self._count = 0

    @property
    def muster(self) -> Reach:
        return cast("Reach", self)

    def happens(self, *facts: f.Fact) -> None:
        for fact in facts:
            self._count += 1
            state = self.life.then(fact).state
            event = job_event(state, fact, event_id=str(self._count), source="t", at=self.life.at)
            self._events.put_nowait(Recorded(event, self._count, self.life.at, self._count))

    def prints(self, *lines: str) -> None:
        state = self.life.state
        page = LogLines(
            tenant=state.tenant,
            job=state.job,
            attempt=max(1, state.attempt),
            worker="worker-0",
            first=0,
            lines=lines,
        )
        self._lines.put_nowait(page)

    async def job_events(self, tenant: str, job: str) -> AsyncIterator[Recorded]:
        assert (tenant, job) == ("acme", "j1")
        while True:
            yield await self._events.get()

    async def heard_lines(self, tenant: str, job: str) -> AsyncIterator[LogLines]:
        assert (tenant, job) == ("acme", "j1")
        while True:
            yield await self._lines.get()

    async def state(self, tenant: str, job: str) -> JobState:
        assert (tenant, job) == ("acme", "j1")
        return self.life.state

    async def pool(self, pool: str) -> PoolSummary | None:
        assert pool == "default"
        return self.summary

    async def nodes(self, pool: str | None = None) -> list[NodeState]:
        assert pool is None
        return self.there


class Seen:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.lines: list[str] = []
        self.waits: list[str] = []
        self.changed = asyncio.Event()

    def on_event(self, item: Recorded) -> None:
        self.events.append(item.event.data.detail.event)
        self.changed.set()

    def on_line(self, worker: str, attempt: int, text: str) -> None:
        self.lines.append(f"{worker}#{attempt} {text}")
        self.changed.set()

    def on_wait(self, words: str) -> None:
        self.waits.append(words)
        self.changed.set()

    async def until(self, count: int, things: list[str]) -> None:
        async with asyncio.timeout(10):
            while len(things) < count:
                self.changed.clear()
                await self.changed.wait()


def _started(story: Story) -> None:
    story.happens(
        f.Admitted(),
        f.Scheduled(placement={"n1": ("worker-0", "worker-1")}),
        f.Launching(attempt=1),
        f.Started(attempt=1),
    )


async def test_a_job_is_followed_until_it_has_given_everything_back() -> None:
    story, seen = Story(), Seen()
    following_it = asyncio.create_task(follow_job(story.muster, story.life.state, seen))
    _started(story)
    await seen.until(4, seen.events)
    story.prints("one", "two")
    await seen.until(2, seen.lines)
    story.happens(f.Succeeded(attempt=1))
    await seen.until(5, seen.events)
    assert not following_it.done()
    story.happens(f.Released(attempt=1))
    last = await asyncio.wait_for(following_it, 10)
    assert last.phase is Phase.SUCCEEDED
    assert seen.lines == ["worker-0#1 one", "worker-0#1 two"]
    assert seen.events[-2:] == ["succeeded", "released"]


async def test_why_a_job_waits_is_told_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WHY_S", 0.001)
    story, seen = Story(), Seen()
    story.happens(f.Admitted())

    def because(words: str) -> PoolSummary:
        told = WaitingJob(tenant="acme", job="j1", code="c", en=words, zh="", ahead=0)
        return PoolSummary(nodes=1, gpus=1, gpus_free=0, waiting=1, queue=(told,))

    story.summary = because("no room")
    following_it = asyncio.create_task(follow_job(story.muster, story.life.state, seen))
    await seen.until(1, seen.waits)
    story.summary = because("no nodes")
    await seen.until(2, seen.waits)
    assert seen.waits == ["no room", "no nodes"]
    story.happens(f.StopRequested(by="ann", request="r1"))
    assert (await asyncio.wait_for(following_it, 10)).phase is Phase.STOPPED


async def test_a_pool_without_nodes_is_told_which_ones_have_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "WHY_S", 0.001)
    story, seen = Story(), Seen()
    story.happens(f.Admitted())
    shape = NodeShape(gpus=8, gpu_model="a", cpus=1, memory_mib=1)
    node = NodeState(pool="west", node="n1", cluster="c", shape=shape, since=story.life.at)
    gone = node.model_copy(update={"pool": "default", "condition": NodeCondition.GONE})
    story.there = [node, gone]
    assert elsewhere(story.life.state, [gone]) == ""
    assert elsewhere(story.life.state, [node.model_copy(update={"pool": "default"})]) == ""
    following_it = asyncio.create_task(follow_job(story.muster, story.life.state, seen))
    await seen.until(1, seen.waits)
    assert "pool default has no nodes; pools that have some: west" in seen.waits[0]
    story.happens(f.StopRequested(by="ann", request="r1"))
    assert (await asyncio.wait_for(following_it, 10)).phase is Phase.STOPPED


async def test_a_parked_job_ends_the_following() -> None:
    story, seen = Story(), Seen()
    story.happens(f.Admitted(), f.QueueTimedOut(entry=1))
    last = await asyncio.wait_for(follow_job(story.muster, story.life.state, seen), 10)
    assert last.phase is Phase.ABNORMAL


def _log(folder: Path, attempt: int, worker: str, text: str) -> Path:
    path = folder / "j1" / str(attempt) / f"{worker}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)
    return path


async def test_files_are_read_attempt_by_attempt_and_to_their_end(tmp_path: Path) -> None:
    _log(tmp_path, 10, "worker-0", "ten\n")
    _log(tmp_path, 2, "worker-0", "two\n")
    _log(tmp_path, 2, "head-0", "head\nunfinished")
    assert [(s.attempt, s.worker) for s in sources(tmp_path / "j1")] == [
        (2, "head-0"),
        (2, "worker-0"),
        (10, "worker-0"),
    ]
    tail = Tail(Story(tmp_path).muster, "acme", "j1")
    tail.finish()
    found = [line async for line in tail.lines()]
    assert sorted(found, key=lambda line: (line.attempt, line.worker)) == [
        Printed(2, "head-0", "head"),
        Printed(2, "head-0", "unfinished"),
        Printed(2, "worker-0", "two"),
        Printed(10, "worker-0", "ten"),
    ]


async def test_a_file_that_appears_later_is_followed_too(tmp_path: Path) -> None:
    tail = Tail(Story(tmp_path).muster, "acme", "j1")
    lines = tail.lines()
    waiting = asyncio.ensure_future(anext(lines))
    _log(tmp_path, 1, "worker-0", "first\n")
    assert (await asyncio.wait_for(waiting, 10)).text == "first"
    _log(tmp_path, 1, "worker-0", "second\n")
    assert (await asyncio.wait_for(anext(lines), 10)).text == "second"
    tail.finish()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(lines), 10)


async def test_nothing_to_read_is_no_line(tmp_path: Path) -> None:
    tail = Tail(Story(tmp_path / "none").muster, "acme", "j1")
    tail.finish()
    assert [line async for line in tail.lines()] == []
