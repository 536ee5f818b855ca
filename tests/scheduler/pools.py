"""A log in memory with nodes and jobs, and schedulers that take turns on it by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.edges import Owner
from muster.domain.errors import MusterError
from muster.domain.nodes import NodeFact, NodeJoined
from muster.domain.pools import PoolSummary, RoundDecided
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.domain.tenants import TenantFact
from muster.log import Recorded
from muster.log.memory import Hooks, LogFault, MemoryLog, Store
from muster.runtime.journal import Journal
from muster.scheduler.core.policy import Policy
from muster.scheduler.cycle.pool import Standby
from muster.scheduler.handlers import Scheduler
from muster.scheduler.stream import FILTERS
from tests.scheduler.worlds import NOW, POOL, node


def auto_queue(hours: int = 2, requeues: int = 1) -> AutoQueueSpec:
    """Auto-queue on."""
    return AutoQueueSpec(enabled=True, max_queue_hours=hours, max_requeues=requeues)


class Hand:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def now(self) -> datetime:
        """See Clock."""
        return NOW + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        """See Clock."""
        return self.elapsed

    def on_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant

    def of_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant


class Faults:
    """Hooks that let the next operations of a kind fail."""

    def __init__(self) -> None:
        self.next: dict[str, list[LogFault]] = {}
        self.before_batch: list[Any] = []

    async def before(self, operation: str) -> LogFault:
        """See Hooks."""
        if operation == "append_all" and self.before_batch:
            await self.before_batch.pop(0)()
        waiting = self.next.get(operation)
        return waiting.pop(0) if waiting else LogFault.NONE

    async def after(self, operation: str) -> None:
        """See Hooks."""


class Pool:
    """One pool on one log. Everything that is not the scheduler's is written by `write`."""

    def __init__(self, nodes: Sequence[str] = (), gpus: int = 8) -> None:
        self.clock = Hand()
        self.store = Store(self.clock.now)
        self.log = MemoryLog(self.store)
        self._numbers = count(1)
        self._names = list(nodes)
        self._gpus = gpus

    def ids(self) -> str:
        """Return the next identifier."""
        return f"id{next(self._numbers):06d}"

    def journal(self, owner: Owner, hooks: Hooks | None = None) -> Journal:
        """Return a pen of a service."""
        return Journal(owner, MemoryLog(self.store, hooks), self.clock, self.ids)

    def scheduler(
        self, hooks: Hooks | None = None, policy: Policy | None = None, file: Path | None = None
    ) -> Scheduler:
        """Return a scheduler that has not taken a turn yet."""
        made = Scheduler(
            self.journal(Owner.SCHEDULER, hooks), policy or Policy(), Standby(), FILTERS
        )
        if file is not None:
            made.keep_in(file, 60.0)
        return made

    async def join(self, *names: str, **shape: Any) -> None:
        """Let nodes join."""
        for name in names:
            state = node(name, **{"gpus": self._gpus, **shape})
            fact = NodeJoined(pool=POOL, node=name, cluster="c", shape=state.shape)
            await self.about_node(name, fact)

    async def about_node(self, name: str, fact: NodeFact, owner: Owner = Owner.EXECUTOR) -> None:
        """Write a fact about a node."""
        await self.journal(owner).advance_node(POOL, name, lambda state, now: fact)

    async def about_tenant(self, tenant: str, fact: TenantFact) -> None:
        """Write a fact about a tenant."""
        await self.journal(Owner.ADMISSION).advance_tenant(tenant, type(fact), lambda last: fact)

    async def submit(self, name: str, workers: int = 1, gpus: int = 8, **more: Any) -> None:
        """Write `submitted` and `admitted`."""
        resource = {"type": "on_demand", "replicas": workers, "gpus_per_replica": gpus}
        resource |= more.pop("resource", {})
        values = {"name": "train", "image": "i:1", "command": ("run",), "resource": resource}
        chosen = JobSpec.model_validate(values | more, strict=False)
        journal = self.journal(Owner.ADMISSION)
        fact = f.Submitted(
            tenant="t",
            job=name,
            user="u",
            pool=POOL,
            request=f"r-{name}",
            digest="d",
            spec=chosen,
            demand=chosen.demand(),
        )
        first = journal.about_job(None, fact)
        await journal.record_all([first, journal.about_same_job(first, f.Admitted())])

    async def write(self, name: str, *facts: f.Fact, owner: Owner = Owner.EXECUTOR) -> None:
        """Write facts about a job."""
        for fact in facts:
            journal = self.journal(owner)
            await journal.record(journal.about_job(await self.last(name), fact))

    async def launch(self, name: str) -> None:
        """Let a placed job run."""
        attempt = (await self.state(name)).attempt
        await self.write(name, f.Launching(attempt=attempt), f.Started(attempt=attempt))

    async def release(self, name: str) -> None:
        """Prove that nothing of a job runs any more."""
        attempt = (await self.state(name)).attempt
        await self.write(name, f.Released(attempt=attempt))

    async def last(self, name: str) -> Recorded:
        """Return a job's last event."""
        found = await self.log.last(subjects.job_key("t", name))
        assert found is not None
        return found

    async def state(self, name: str) -> JobState:
        """Return a job's state."""
        return (await self.last(name)).job

    async def decided(self) -> RoundDecided | None:
        """Return the last recorded round."""
        found = await self.log.last(subjects.pool_key(POOL, "decided"))
        return found.event.data.detail if found else None

    async def summary(self) -> PoolSummary | None:
        """Return the last summary."""
        found = await self.log.last(subjects.pool_key(POOL, "summary"))
        return found.event.data.detail if found else None

    def events(self, name: str) -> list[Recorded]:
        """Return every event of this name in the log."""
        return [
            Recorded(entry.event, entry.seq, entry.at, entry.seq)
            for entry in self.store.entries
            if entry.event is not None and entry.subject.split(".")[-1] == name
        ]

    def pass_by(self, seconds: float) -> None:
        """Let time go on."""
        self.clock.elapsed += seconds


async def settle(*schedulers: Scheduler, turns: int = 6) -> None:
    """Let every scheduler take some turns, one after the other; a refusal is tried again."""
    for _ in range(turns):
        for each in schedulers:
            try:
                await each.step()
            except MusterError:
                continue
