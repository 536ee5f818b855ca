"""Look on and count: waits, what was allocated when, who was evicted and what it cost.

Hear every fact once, in order; keep totals and series, no events. Decide nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muster.cli.simulation.replay.book import Change, NodeChange
from muster.cli.simulation.replay.fragments import Fragments
from muster.cli.simulation.replay.misfits import Misfit
from muster.cli.simulation.replay.rounds import Rounds
from muster.cli.simulation.replay.series import NodeSeries, Point, Series
from muster.cli.simulation.replay.starvation import Entry
from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain.causes import EvictionCause
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.violations import Violation
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import rank
from muster.testing.virtual_time import START

PERIOD_S = 3600.0
"""A spot job that has run so long undisturbed has had one more period of those it was promised."""


@dataclass(slots=True)
class Trail:
    """One job. queued_s: all its waits; longest_s: the longest of them, from when it last ran (or
    was submitted) until it ran again or the replay ended."""

    row: Row
    submitted: datetime
    waits_since: datetime | None = None
    started: datetime | None = None
    runs_since: datetime | None = None
    ended: datetime | None = None
    queued_s: float = 0.0
    longest_s: float = 0.0
    evictions: int = 0
    lost_gpu_s: float = 0.0
    phase: Phase = Phase.SUBMITTED
    entry: Entry | None = None

    @property
    def first_wait_s(self) -> float | None:
        """Seconds from submission to the first start."""
        return (self.started - self.submitted).total_seconds() if self.started else None

    @property
    def jct_s(self) -> float | None:
        """Seconds from submission to the end, of a job that was done."""
        if self.ended is None or self.phase is not Phase.SUCCEEDED:
            return None
        return (self.ended - self.submitted).total_seconds()

    def waits(self, at: datetime) -> None:
        """Begin to wait, or go on waiting."""
        self.waits_since = self.waits_since or at

    def waited(self, at: datetime) -> None:
        """Wait no more."""
        if self.waits_since is not None:
            seconds = (at - self.waits_since).total_seconds()
            self.queued_s += seconds
            self.longest_s = max(self.longest_s, seconds)
            self.waits_since = None


@dataclass(slots=True)
class Periods:
    """Hours that spot jobs were promised: kept and broken."""

    kept: int = 0
    broken: int = 0


@dataclass(slots=True)
class Meters:
    """See the module. evictions: (class, cause) -> how many; refusals: rule -> how many.

    workload: without the misfits, which are nowhere else counted. waiting: jobs in the queue now.
    """

    workload: Workload
    policy: Policy
    misfits: tuple[Misfit, ...] = ()
    trails: dict[str, Trail] = field(default_factory=dict)
    evictions: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    entries: list[Entry] = field(default_factory=list)
    resumed: int = 0
    periods: Periods = field(default_factory=Periods)
    series: Series = field(default_factory=Series)
    nodes: NodeSeries = field(default_factory=NodeSeries)
    fragments: Fragments = field(init=False)
    waiting: int = 0
    _total: int = 0

    def __post_init__(self) -> None:
        self.fragments = Fragments(self.workload)

    # --- what is heard -------------------------------------------------------------------------

    def expect(self, row: Row, job: str) -> None:
        """A job comes."""
        self.trails[job] = Trail(row, START + timedelta(seconds=row.submit_s))

    def refused(self, row: Row, violations: Sequence[Violation]) -> None:
        """Admission said no."""
        for each in violations:
            self.refusals[each.code] += 1

    def on_job(self, change: Change) -> None:
        """Hear a fact about a job."""
        before, after = change.before, change.after
        trail = self.trails[after.job]
        trail.phase = after.phase
        if before is None or before.held is not after.held:
            self._moves(before, after, change.at)
        match change.fact.event:
            case "admitted" | "requeued" | "resumed":
                self.waiting += 1
                self.resumed += change.fact.event == "resumed"
                self._enters(trail, after, change.at)
                trail.waits(change.at)
            case "scheduled":
                self.waiting -= 1
            case "queue_timed_out" | "declined":
                self.waiting -= 1
                self._leaves(trail, change.at)
            case "started":
                trail.waited(change.at)
                if trail.entry is not None:
                    trail.entry.left = change.at
                trail.started = trail.started or change.at
                trail.runs_since = change.at
            case "preempted" | "replacement_ordered":
                self._evicted(trail, after)
        if after.terminal and trail.ended is None:
            self._over(trail, after, change.at)

    def on_node(self, change: NodeChange) -> None:
        """Hear a fact about a node."""
        before, after = _offered(change.before), _offered(change.after)
        self._total += after - before
        self.nodes.note_capacity(change.after.node, change.after.shape.gpus * 1000)

    def lost(self, state: JobState, seconds: float) -> None:
        """A job lost so much of its work."""
        trail = self.trails[state.job]
        trail.lost_gpu_s += seconds * trail.row.gpu_count

    def instant(self, at: datetime, rounds: Rounds) -> None:
        """Everything of one instant has happened."""
        seconds = (at - START).total_seconds()
        self.series.add(Point(seconds, self.nodes.used, self._total, self.waiting))
        self.fragments.look(seconds, rounds.made)

    # --- counting ------------------------------------------------------------------------------

    def _moves(self, before: JobState | None, after: JobState, at: datetime) -> None:
        seconds = (at - START).total_seconds()
        if before is not None and before.held:
            self.nodes.change(seconds, _milli(before), -1)
            self._leaves(self.trails[after.job], at)
        if after.held:
            self.nodes.change(seconds, _milli(after), 1)

    def _enters(self, trail: Trail, state: JobState, at: datetime) -> None:
        trail.entry = Entry(state.job, rank(state, self.policy), at)
        self.entries.append(trail.entry)

    def _leaves(self, trail: Trail, at: datetime) -> None:
        if trail.entry is not None:
            trail.entry.left = trail.entry.left or at
            trail.entry.over = at

    def _evicted(self, trail: Trail, state: JobState) -> None:
        cause = state.eviction.cause if state.eviction else EvictionCause.FAULT
        trail.evictions += 1
        self.evictions[trail.row.qos, cause.value] += 1
        if trail.row.qos in {"spot", "idle"}:
            self.periods.broken += 1
            self._count_periods(trail, state.since)

    def _count_periods(self, trail: Trail, at: datetime) -> None:
        if trail.runs_since is not None:
            self.periods.kept += int((at - trail.runs_since).total_seconds() // PERIOD_S)
            trail.runs_since = None

    def _over(self, trail: Trail, state: JobState, at: datetime) -> None:
        trail.ended = at
        trail.waited(at)
        self.ends[state.phase.value] += 1
        if state.phase is Phase.SUCCEEDED and trail.row.qos in {"spot", "idle"}:
            self._count_periods(trail, at)
            self.periods.kept += 1

    def close(self, at: datetime) -> None:
        """The replay is over: who still waits has waited until now."""
        for trail in self.trails.values():
            trail.waited(at)


def _milli(state: JobState) -> dict[str, int]:
    """Return thousandths of cards that a job holds, by node."""
    amounts = {}
    for node, workers in state.held.items():
        roles = (state.demand.role_of(worker) for worker in workers)
        amounts[node] = sum(role.gpus * 1000 + role.gpu_milli for role in roles)
    return amounts


_THERE = frozenset({NodeCondition.READY, NodeCondition.RECLAIMING})


def _offered(node: NodeState | None) -> int:
    if node is None or node.condition not in _THERE:
        return 0
    return node.shape.gpus * 1000
