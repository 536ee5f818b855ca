"""What the scheduler counts. Labels are bounded: pools, and the names below."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum

from prometheus_client import Counter, Gauge, Histogram

from muster.domain.pools import FragmentsMeasured, StabilityMeasured
from muster.scheduler.core.verdicts import Move, Plan


class Outcome(StrEnum):
    """How a round ended."""

    WRITTEN = "written"
    NOTHING = "nothing"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    REFUSED = "refused"


ROUNDS = Counter("muster_scheduler_rounds", "Rounds, by how they ended", ["pool", "outcome"])
DECISIONS = Counter("muster_scheduler_decisions", "Events written", ["pool", "event"])
SECONDS = Histogram(
    "muster_scheduler_plan_seconds",
    "Seconds that a plan took",
    ["pool"],
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
WAITING = Gauge("muster_scheduler_waiting", "Queued jobs not placed by the last round", ["pool"])
UNREACHED = Gauge("muster_scheduler_unreached", "Of these, not reached by the round", ["pool"])
FREE = Gauge("muster_scheduler_free_gpus", "Free GPUs on nodes that take new work", ["pool"])
FRAGMENTED = Gauge(
    "muster_scheduler_fragmented_gpus", "Of these, what the usual shapes cannot use", ["pool"]
)
SURVIVES = Gauge(
    "muster_scheduler_idle_survives",
    "Measured chance of an idle job of a level to keep its place for so many hours",
    ["pool", "level", "hours"],
)
RISK_BOUND = Gauge(
    "muster_scheduler_risk_bound",
    "Largest risk that a node may have for idle jobs of a level that has a bound",
    ["pool", "level"],
)
LEADS = Gauge("muster_scheduler_leads", "1 while this process decides in the pool", ["pool"])


def rounds_ended(pool: str) -> dict[Outcome, int]:
    """Return how many rounds of a pool have ended in which way in this process."""
    ended = dict.fromkeys(Outcome, 0)
    for metric in ROUNDS.collect():
        for sample in metric.samples:
            if sample.labels["pool"] == pool and sample.name.endswith("_total"):
                ended[Outcome(sample.labels["outcome"])] = int(sample.value)
    return ended


class Meter:
    """The metrics of one pool."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._rounds = {outcome: ROUNDS.labels(pool, outcome) for outcome in Outcome}
        self._seconds = SECONDS.labels(pool)
        self._leads = LEADS.labels(pool)
        self._free, self._fragmented = FREE.labels(pool), FRAGMENTED.labels(pool)

    def planned(self, made: Plan, seconds: float) -> None:
        """Note a plan of the leader."""
        self._seconds.observe(seconds)
        self.queue(len(made.verdicts), made.unreached)

    def queue(self, waiting: int, unreached: int) -> None:
        """Note what the last plan left over."""
        WAITING.labels(self._pool).set(waiting)
        UNREACHED.labels(self._pool).set(unreached)

    def measured(self, found: FragmentsMeasured) -> None:
        """Note the fragments of the pool."""
        self._free.set(found.free_milli / 1000)
        self._fragmented.set(found.fragmented_milli / 1000)

    def judged(self, found: StabilityMeasured) -> None:
        """Note how long idle jobs keep their places; what is not known is not told."""
        for one in found.levels:
            for hours, chance in (("1", one.survive_1h), ("6", one.survive_6h)):
                if chance is not None:
                    SURVIVES.labels(self._pool, one.level, hours).set(chance.chance)
            if one.bound is not None:
                RISK_BOUND.labels(self._pool, one.level).set(one.bound)

    def ended(self, outcome: Outcome) -> None:
        """Count a round."""
        self._rounds[outcome].inc()

    def written(self, moves: Iterable[Move]) -> None:
        """Count what a batch has written; called once it is known to be in the log."""
        for move in moves:
            for decision in move.decisions:
                DECISIONS.labels(self._pool, decision.fact.event).inc()

    def leads(self, now: bool) -> None:
        """Note who decides; whoever does no more has nothing to say about the queue either."""
        self._leads.set(int(now))
        if not now:
            for gauge in (WAITING, UNREACHED):
                with suppress(KeyError):
                    gauge.remove(self._pool)
