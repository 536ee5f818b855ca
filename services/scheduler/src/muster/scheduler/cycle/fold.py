"""What the log says of each pool, bounded to jobs that are queued or hold something.

Pure bookkeeping: events go in, in the order of the log, and a snapshot comes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from muster.contracts import subjects
from muster.contracts.events import JobData, NodeData, TenantData
from muster.domain.edges import Owner
from muster.domain.facts import Preempted, Prioritised, RunTimedOut, Succeeded
from muster.domain.phases import Phase
from muster.domain.pools import (
    EpochTaken,
    FragmentsMeasured,
    PoolSummary,
    RoundDecided,
    SpotQuotaMeasured,
    StabilityMeasured,
)
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView
from muster.log import Recorded, Unreadable
from muster.scheduler.core.book import Register
from muster.scheduler.core.jobs import JobKey, key_of, line_of
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes
from muster.scheduler.core.snapshot import Eviction, LastRound, Snapshot
from muster.scheduler.core.spot_room import is_spot
from muster.scheduler.core.stays import Stay, Stays, ended, stay_of
from muster.scheduler.core.steadiness import bounds
from muster.scheduler.cycle.kept import Kept, Shelf, Written, written

EVICTIONS = 10_000
"""So many evictions of a pool are remembered, for the guards against going round in circles."""


@dataclass(slots=True)
class PoolFold:
    """One pool. version counts what may change a plan; sign: the last event by any scheduler.

    tenants: of the whole log, the same for every pool.
    """

    pool: str
    jobs: dict[JobKey, Kept] = field(default_factory=dict)
    register: Register = field(default_factory=Register)
    shelf: Shelf = field(default_factory=Shelf)
    memory: Memory = field(default_factory=Memory)
    nodes: dict[str, Recorded] = field(default_factory=dict)
    epoch: Recorded | None = None
    epoch_head: int = 0
    decided: Recorded | None = None
    summary: Recorded | None = None
    stock: dict[str, Recorded] = field(default_factory=dict)
    fragments: Recorded | None = None
    stability: Recorded | None = None
    spot_quota: Recorded | None = None
    tenants: dict[str, TenantView] = field(default_factory=dict)
    evictions: deque[Eviction] = field(default_factory=lambda: deque(maxlen=EVICTIONS))
    version: int = 0
    sign: int = 0
    runtimes: Runtimes = UNTAUGHT
    stays: Stays = field(default_factory=Stays)

    @property
    def told_stability(self) -> StabilityMeasured | None:
        """Return what was told last of how long idle jobs keep their places."""
        detail = self.stability.event.data.detail if self.stability else None
        assert detail is None or isinstance(detail, StabilityMeasured)
        return detail

    def stays_at(self, now: datetime) -> list[Stay]:
        """Return the stays of idle jobs that count now, those that go on too."""
        going = (stay_of(listed.state, now) for listed in self.register.holding())
        return self.stays.at(now, (stay for stay in going if stay))

    @property
    def last_round(self) -> RoundDecided | None:
        """Return the last recorded round."""
        detail = self.decided.event.data.detail if self.decided else None
        assert detail is None or isinstance(detail, RoundDecided)
        return detail

    @property
    def measured_quota(self) -> SpotQuotaMeasured | None:
        """Return how much spot jobs may hold, as last measured."""
        detail = self.spot_quota.event.data.detail if self.spot_quota else None
        assert detail is None or isinstance(detail, SpotQuotaMeasured)
        return detail

    def snapshot(
        self, now: datetime, upto: int, cursor: JobKey | None, set_aside: frozenset[JobKey]
    ) -> Snapshot:
        """Freeze the pool for a plan."""
        last = self.last_round
        self.shelf.tidy()
        return Snapshot(
            pool=self.pool,
            now=now,
            upto=upto,
            nodes=tuple(recorded.node for recorded in self.nodes.values()),
            jobs=self.register.book(),
            last_round=LastRound(last.at, last.upto) if last else None,
            cursor=cursor,
            set_aside=set_aside,
            runtimes=self.runtimes,
            tenants=dict(self.tenants),
            evictions=tuple(self.evictions),
            memory=self.memory,
            stock=tuple(self.stock[item].event.data.detail for item in sorted(self.stock)),
            stability=self.told_stability,
            spot_quota=self.measured_quota,
        )

    def note_job(self, recorded: Recorded, stay: int | None = None) -> None:
        """Take in an event about a job of this pool."""
        state = recorded.job
        key = key_of(state)
        before, held_before = self.jobs.get(key), self.register.holds(key)
        self._forget(before)
        self.version += 1
        if stay is None:
            self._learn(recorded, before if held_before else None)
        match recorded.event.data.detail:
            case Preempted(by=str(by), cause=cause):
                models = self._spot_models(state)
                self.evictions.append(
                    Eviction(recorded.event.time, key, by, cause, spot_models=models)
                )
            case Prioritised():
                self.turn_round(lambda one: state.job in {one.by, one.victim[1]})
        if not state.held and state.phase is not Phase.QUEUED:
            return
        if stay is None:
            holds_on = before is not None and held_before and state.held
            stay = before.stay if before and holds_on else state.attempt
        self._enter(recorded, stay)

    def _spot_models(self, state: JobState) -> tuple[str, ...]:
        """Return the GPU models that a spot job has on ordinary nodes."""
        if not is_spot(state):
            return ()
        shapes = [self.nodes[name].node.shape for name in state.held if name in self.nodes]
        return tuple(sorted({shape.gpu_model for shape in shapes if not shape.spot}))

    def _forget(self, kept: Kept | None) -> None:
        if kept is None:
            return
        del self.jobs[kept.key]
        self.register.let_go(kept.key)
        if kept.line is not None:
            self.register.dequeue(kept)
            self.shelf.drop(kept)

    def _enter(self, recorded: Recorded, stay: int) -> None:
        state = recorded.job
        waits = state.phase is Phase.QUEUED
        tenant = self.tenants.get(state.tenant)
        line = self.register.known(line_of(state, tenant)) if waits else None
        kept = self.jobs[key_of(state)] = Kept(recorded, stay, line, self.shelf)
        if waits:
            self.register.enqueue(kept)
            self.shelf.put(kept)
        if state.held:
            self.register.hold(kept.read())

    def note_head(self, key: JobKey, head: int) -> None:
        """Take in that something unreadable came after the last event of a job."""
        if kept := self.jobs.get(key):
            moved = replace(kept.recorded, head=head)
            self._forget(kept)
            self._enter(moved, kept.stay)

    def note_tenant(self, name: str, *, users: bool) -> None:
        """Take in that something else is recorded of a tenant; users: of some of its users."""
        self.version += 1
        self.turn_round(lambda one: one.victim[0] == name)
        if not users:
            return
        for kept in [kept for key, kept in self.jobs.items() if key[0] == name and kept.waits]:
            recorded = kept.recorded
            self._forget(kept)
            self._enter(recorded, kept.stay)

    def turn_round(self, which: Callable[[Eviction], bool]) -> None:
        """Note that somebody has changed the order of jobs: past evictions forbid nothing more."""
        for index, one in enumerate(self.evictions):
            if which(one) and not one.void:
                self.evictions[index] = replace(one, void=True)

    def _learn(self, recorded: Recorded, before: Kept | None) -> None:
        """Learn from the end of a job, and from that of its stay. before: where it held nodes."""
        if before is not None and before.recorded.job.outlook is not None:
            fact, state = recorded.event.data.detail, before.recorded.job
            if stay := ended(state, recorded.job, fact, recorded.event.time):
                self.stays.add(stay)
        began = recorded.job.started_at
        if began is not None and isinstance(recorded.event.data.detail, Succeeded | RunTimedOut):
            seconds = (recorded.event.time - began).total_seconds()
            self.runtimes = self.runtimes.learned(recorded.job, seconds)

    def note_node(self, recorded: Recorded) -> None:
        """Take in an event about a node."""
        self.nodes[recorded.node.node] = recorded
        self.version += 1

    def note_fact(self, recorded: Recorded) -> None:
        """Take in an event about the pool itself. Stock, bounds and quotas change a plan."""
        match recorded.event.data.detail:
            case EpochTaken():
                self.epoch, self.epoch_head = recorded, recorded.head
            case RoundDecided():
                self.decided = recorded
            case PoolSummary():
                self.summary = recorded
            case StockChanged():
                self.stock[recorded.event.subject] = recorded
                self.version += 1
            case FragmentsMeasured():
                self.fragments = recorded
            case StabilityMeasured():
                self._note_stability(recorded)
            case SpotQuotaMeasured(limits=limits):
                before = self.measured_quota
                self.version += limits != (before.limits if before else {})
                self.spot_quota = recorded

    def _note_stability(self, recorded: Recorded) -> None:
        before = bounds(self.told_stability)
        self.stability = recorded
        if bounds(self.told_stability) != before:
            self.version += 1


_SCHEDULER = f"muster/{Owner.SCHEDULER}"


@dataclass(slots=True)
class Fold:
    """Every pool, or some. last: the newest event that was taken in.

    facts: the last of each kind about each tenant, by subject; tenants: what they say together.
    """

    only: frozenset[str] = frozenset()
    pools: dict[str, PoolFold] = field(default_factory=dict)
    tenants: dict[str, TenantView] = field(default_factory=dict)
    facts: dict[str, Recorded] = field(default_factory=dict)
    last: Recorded | None = None

    def take(self, item: Recorded | Unreadable, stay: int | None = None) -> None:
        """Take in one item of the log, in order."""
        if isinstance(item, Unreadable):
            self._unreadable(item)
            return
        self.last = item
        address = subjects.parse(item.event.subject)
        match item.event.data:
            case TenantData():
                self._tenant(address.names[0], item)
                return
            case JobData():
                pool = item.job.pool
            case NodeData():
                pool = item.node.pool
            case _:
                pool = address.names[0]
        if self.only and pool not in self.only:
            return
        fold = self.pools.setdefault(pool, PoolFold(pool, tenants=self.tenants))
        if item.event.source == _SCHEDULER:
            fold.sign = item.seq
        self._note(fold, address.kind, item, stay)

    def _tenant(self, name: str, item: Recorded) -> None:
        self.facts[item.event.subject] = item
        before = self.tenants.get(name, TenantView())
        after = self.tenants[name] = before.after(item.event.data.detail)
        for fold in self.pools.values():
            fold.note_tenant(name, users=before.listed_users != after.listed_users)

    def _note(self, fold: PoolFold, kind: str, item: Recorded, stay: int | None) -> None:
        match kind:
            case "job":
                fold.note_job(item, stay)
            case "node":
                fold.note_node(item)
            case _:
                fold.note_fact(item)

    def _unreadable(self, item: Unreadable) -> None:
        """Conditions name the last message of a key, readable or not."""
        try:
            address = subjects.parse(item.subject)
        except subjects.BadSubject:
            return
        if address.kind == "job":
            tenant, job = address.names
            for fold in self.pools.values():
                fold.note_head((tenant, job), item.seq)
        elif (address.kind, address.event) == ("pool", EpochTaken.event):
            led = self.pools.get(address.names[0])
            if led is not None:
                led.epoch_head = item.seq

    def items(self) -> Iterator[tuple[Written, int | None]]:
        """Yield what would make the same fold again, if taken in this order."""
        kept: list[tuple[Written, int | None]] = [(written(f), None) for f in self.facts.values()]
        for fold in self.pools.values():
            facts = (
                fold.epoch,
                fold.decided,
                fold.summary,
                fold.fragments,
                fold.stability,
                fold.spot_quota,
                *fold.nodes.values(),
                *fold.stock.values(),
            )
            kept += [(written(recorded), None) for recorded in facts if recorded]
            kept += [(one.written(), one.stay) for one in fold.jobs.values()]
        return iter(sorted(kept, key=lambda one: one[0].seq))
