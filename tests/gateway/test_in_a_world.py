"""Two gateways in a world where everything fails: what they keep is the log, whatever happens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from functools import partial

import pytest
from sqlalchemy import Engine

from muster.bus.topology import GATEWAY_ARCHIVE
from muster.contracts.events import read_event
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.metering import Moment, intervals, summed
from muster.domain.state import JobState
from muster.gateway.core.filters import JobFilter
from muster.gateway.core.usage import UsageAsked
from muster.gateway.service import build
from muster.gateway.settings import GatewaySettings
from muster.gateway.store import export
from muster.gateway.store.tables import events, jobs
from muster.gateway.store.usage import usage
from muster.runtime.database import Database, open_engine
from muster.runtime.service import Runtime, Service
from muster.testing.faults import CALM, drawn
from muster.testing.gates import ProcessHooks
from muster.testing.process import ServicePlan
from muster.testing.steady import advance
from muster.testing.walk import step
from muster.testing.world import Option, World
from tests.gateway.worlds import rows
from tests.support.log_lives import TENANT, Lives

STEPS = 700


class Writers:
    """The other services, who write lives of jobs to the log whatever becomes of the gateways."""

    def __init__(self, world: World) -> None:
        from muster.log.memory import MemoryLog

        self._lives = Lives(MemoryLog(world.store), _Now(world))  # type: ignore[arg-type]
        self._queue: list[tuple[str, Owner, f.Fact | None]] = []
        self._count = 0

    def options(self, world: World) -> Iterable[Option]:
        yield Option(3.0, "somebody writes", partial(self._write, world))

    def next_time(self, world: World) -> float | None:
        return None

    def pass_time(self, world: World) -> None:
        return None

    def _write(self, world: World) -> None:
        if not self._queue or world.dice.chance(0.1):
            self._begin(world)
        job, owner, fact = self._queue.pop(0)
        if fact is None:
            _now(self._lives.submitted(job, labels={"n": job}))
        else:
            _now(self._lives.say(job, owner, fact))

    def _begin(self, world: World) -> None:
        self._count += 1
        job = f"j{self._count}"
        life: list[tuple[Owner, f.Fact | None]] = [
            (Owner.ADMISSION, None),
            (Owner.ADMISSION, f.Admitted()),
            (Owner.SCHEDULER, f.Scheduled(placement={"n1": ("worker-0", "worker-1")})),
            (Owner.EXECUTOR, f.Launching(attempt=1)),
            (Owner.EXECUTOR, f.Started(attempt=1)),
            (Owner.EXECUTOR, f.Succeeded(attempt=1)),
            (Owner.EXECUTOR, f.Released(attempt=1)),
        ]
        mine = [(job, owner, fact) for owner, fact in life[: world.dice.whole(2, 7)]]
        at = world.dice.whole(0, len(self._queue))
        self._queue[at:at] = mine


class _Now:
    """The server's clock; lives do not move it."""

    def __init__(self, world: World) -> None:
        self._time = world.time
        self.now = world.time.now

    def monotonic(self) -> float:
        return self._time.elapsed

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant

    def pass_by(self, **span: float) -> None:
        return None


def _now(work: object) -> None:
    """Run what passes no gate."""
    with pytest.raises(StopIteration):
        work.send(None)  # type: ignore[attr-defined]


Told = dict[int, tuple[bytes, bool]]
"""Sequence -> what was stored, and whether it is an event that counts."""


def gateways(engine: Engine, hot_hours: float) -> ServicePlan:
    settings = GatewaySettings(http=False, hot_hours=hot_hours, follow_s=0.5, trim_s=10)

    def made(runtime: Runtime, hooks: ProcessHooks) -> Service:
        return build(runtime, settings)

    return ServicePlan("gateway", made, replicas=2, engine=lambda: engine)


@pytest.mark.parametrize("hot_hours", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(8))
def test_the_archive_is_the_log_whatever_fails(seed: int, hot_hours: float) -> None:
    engine = open_engine("sqlite://")
    world = World(seed, [gateways(engine, hot_hours)])
    world.faults = drawn(world.dice)
    world.surroundings.append(Writers(world))
    told: Told = {}
    for _ in range(STEPS):
        step(world)
        told |= {e.seq: (e.body, e.event is not None) for e in world.store.entries[len(told) :]}
    world.faults = CALM
    world.surroundings.clear()
    _until_the_clock_is_past_everything(world)
    told |= {e.seq: (e.body, e.event is not None) for e in world.store.entries[len(told) :]}
    _check(world, Database(engine, threaded=False), told, trimmed=hot_hours > 0)


def _until_the_clock_is_past_everything(world: World) -> None:
    """The writers go by the server's clock, which may have stepped; the gateways do not."""
    last = max(e.event.time for e in world.store.entries if e.event is not None)
    now = min(process.clock.now() for process in world.processes)
    advance(world, 900 + max(0.0, (last - now).total_seconds()))


def _check(world: World, database: Database, told: Told, *, trimmed: bool) -> None:
    readable = {seq: body for seq, (body, is_event) in told.items() if is_event}
    kept = {row["seq"]: row["body"].encode() for row in rows(database, events)}
    assert kept == readable
    with database.engine.connect() as connection:
        assert list(export.check(connection)) == []
    _check_use(database)
    ended = [row for row in rows(database, jobs) if row["phase"] == "succeeded"]
    assert ended
    for row in ended:
        history = [b for b in readable.values() if f"jobs.{TENANT}.{row['job']}.".encode() in b]
        released = any(b".released" in body for body in history)
        assert sum(b".archived" in body for body in history) == released
        assert bool(row["archived"]) == released
        left = [e for e in world.store.entries if f".{row['job']}." in e.subject]
        assert [bool(e.event) for e in left] or not trimmed
        if trimmed and released:
            assert [e.subject.rpartition(".")[2] for e in left if e.event] == ["archived"]
    assert not world.bus.durables[GATEWAY_ARCHIVE.durable].open


def _check_use(database: Database) -> None:
    """What was metered on the way is what the events come to."""
    lives: dict[str, list[Moment]] = defaultdict(list)
    for row in rows(database, events):
        event = read_event(row["subject"], row["body"].encode())
        if isinstance(state := getattr(event.data, "job", None), JobState):
            lives[state.job].append((state, event.time))
    until = max(at for told in lives.values() for _, at in told)
    own = [(told[0][0], intervals(told, until)) for told in lives.values()]
    asked = UsageAsked(JobFilter(), until, by=("job", "phase"))
    with database.engine.connect() as connection:
        found = usage(connection, asked)
    assert found.gaps == 0
    assert dict(found.rows) == summed(own, asked.by)
