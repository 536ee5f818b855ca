"""Facts about a whole pool or cluster: who may decide there, and what was decided last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from muster.domain.demand import StabilityLevel
from muster.domain.model import Frozen, Instant, Token
from muster.domain.survival import BandSurvival, Calibration, LevelSurvival
from muster.domain.waiting import Tier


class PoolFact(Frozen):
    """Base of facts that are not about one job or one node."""

    event: ClassVar[str]
    version: ClassVar[int] = 1


class EpochTaken(PoolFact):
    """From here on only this holder's batches (pool) or effects (cluster) count."""

    event: ClassVar[str] = "epoch"
    epoch: int
    holder: str


class RoundDecided(PoolFact):
    """A placement round has run on everything up to a sequence of the log.

    upto: last sequence of the log that the round knew. at: the instant the round was for.
    Proof, for deadlines, that a job had its chance (decision D2).
    """

    event: ClassVar[str] = "decided"
    epoch: int
    round: int
    upto: int
    at: Instant
    scheduled: int = 0
    preempted: int = 0
    waiting: int = 0
    remainder: int = 0


class WaitingJob(Frozen):
    """Why a queued job is not placed yet. code: a `WhyCode`. ahead: jobs before it.

    Without what changes in every round though nothing else does: the live answer has that.
    """

    tenant: Token
    job: Token
    code: str
    en: str
    zh: str
    ahead: int
    tier: Tier | None = None
    numbers: Mapping[str, int | str] = {}


class PoolSummary(PoolFact):
    """Capacity of the pool at a glance, and why jobs wait there.

    nodes, gpus: that may take new work. gpus_free: of these, what nobody has a claim on.
    waiting: how many jobs are queued. queue: the first of them, in order, at most some dozens.
    """

    event: ClassVar[str] = "summary"
    nodes: int
    gpus: int
    gpus_free: int
    waiting: int
    queue: tuple[WaitingJob, ...] = ()

    def place_of(self, tenant: str, job: str) -> WaitingJob | None:
        """Return what is said of a job; None where it is not among the first."""
        return next((one for one in self.queue if (one.tenant, one.job) == (tenant, job)), None)


class FragmentRow(Frozen):
    """Of what use the free room of a pool is to workers of one shape.

    level: for idle jobs of this stability level; `low` may use everything, as other jobs may.
    free_milli: thousandths of the free cards that the level may use, whatever fits there. gang: how
    many workers of the shape fit now, each on one node. nodes: on which one more would fit.
    Rows speak of the same cards: they are never summed.
    """

    gpus: int
    gpu_milli: int
    gpu_model: str | None = None
    cpus: float
    memory_mib: int
    level: StabilityLevel
    free_milli: int
    gang: int
    nodes: int


class FragmentsMeasured(PoolFact):
    """What of the free room is of use, to the shapes that the pool runs most.

    free_milli: thousandths of free cards on nodes that take new work. fragmented_milli: of these,
    what the usual shapes cannot use, weighted by how usual they are.
    """

    event: ClassVar[str] = "fragments"
    free_milli: int
    fragmented_milli: int
    rows: tuple[FragmentRow, ...] = ()


class StabilityMeasured(PoolFact):
    """How long idle jobs keep their places, by stability level and by the risk of the place.

    levels: `low` first; their bounds are in force from here on. bands: the least risk first.
    calibration: of what jobs were told when they were placed, by hours; empty = too little is
    known.
    """

    event: ClassVar[str] = "stability"
    levels: tuple[LevelSurvival, ...]
    bands: tuple[BandSurvival, ...] = ()
    calibration: tuple[Calibration, ...] = ()


class DemandHistory(Frozen):
    """What is known of how the demand for one GPU model goes, in GPUs. Hours count since 1970.

    peak: the highest demand of the hour so far; whole: that hour was watched from its beginning.
    week: usual peak by hour of the week, None = never seen. recent: peaks of the last hours without
    a gap, the newest last. errors: mean square of what was foreseen wrongly, 1, 2, ... hours ahead.
    hours: so many whole hours were watched.
    """

    hour: int
    peak: float
    whole: bool = False
    week: tuple[float | None, ...] = (None,) * 168
    recent: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    hours: int = 0


class SpotQuotaRow(Frozen):
    """How much of one GPU model spot jobs may hold on nodes that others may take back.

    GPUs. quota: None = no limit, as too little is known of the demand. demand: what jobs that spot
    jobs give way to hold and wait for; forecast: the most of it that is reckoned with within the
    horizon. held: by spot jobs. eta: the quota is so many times what the forecast leaves free, as
    evictions came out. evicted, kept: evictions and undisturbed hours of spot jobs since eta moved,
    the older the less.
    """

    gpu_model: str
    capacity: float
    demand: float
    forecast: float | None = None
    held: float
    quota: float | None = None
    eta: float
    evicted: float
    kept: float
    history: DemandHistory


class SpotQuotaMeasured(PoolFact):
    """How much spot jobs may hold, model by model, and all that the next measurement needs.

    upto: evictions before this instant are counted.
    """

    event: ClassVar[str] = "spot_quota"
    at: Instant
    upto: Instant
    rows: tuple[SpotQuotaRow, ...] = ()

    @property
    def limits(self) -> dict[str, float]:
        """Return the quota of each model that has one."""
        return {row.gpu_model: row.quota for row in self.rows if row.quota is not None}

    def of(self, gpu_model: str) -> SpotQuotaRow | None:
        """Return the row of a model."""
        return next((row for row in self.rows if row.gpu_model == gpu_model), None)


POOL_FACTS: dict[str, type[PoolFact]] = {fact.event: fact for fact in PoolFact.__subclasses__()}
