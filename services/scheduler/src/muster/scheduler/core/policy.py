"""What an operator may set of the rules, and the bounds on the work of one round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.domain.demand import ResourceClass, StabilityLevel


class Order(StrEnum):
    """Who comes first in the queue.

    default: guarantee, tier, then priority and waiting together. fifo_spot: the same, but nobody of
    the spot class passes a spot job that waits for room. fifo: who came first, and nobody
    passes a job that waits for room; fifo_skip: the same, but who fits may pass. sjf: who says that
    it runs the shortest (`max_runtime_s`). The last three know neither classes nor priorities.
    """

    DEFAULT = "default"
    FIFO_SPOT = "fifo_spot"
    FIFO = "fifo"
    FIFO_SKIP = "fifo_skip"
    SJF = "sjf"


class SpotQuota(StrEnum):
    """How much spot jobs may hold on ordinary nodes.

    off: whatever is free. no_forecast: what all other jobs do not ask for now. forecast: what they
    are not expected to ask for within some hours.
    """

    OFF = "off"
    NO_FORECAST = "no_forecast"
    FORECAST = "forecast"


@dataclass(frozen=True, slots=True)
class Policy:
    """order: of the queue. age_s: one point of priority is worth so many seconds of waiting in it.

    reserve_after_s: after so long in the queue room is kept for a job that nothing else keeps back;
    reserve_max_s: for so long at a stretch while limits prove no end, then twice as long, and so
    on, with pauses of this length. 0 = never.

    min_run_s: so long a job runs before a higher one may evict it; cool_down_s: the same for a
    job that was evicted before. Idle jobs have no such protection.
    cycle_window_s: within so long nobody evicts the one for which it was evicted itself, directly
    or by way of others. max_evictions_per_minute: gangs of one pool, for the sake of others; what
    is owed (to a lender, to a cloud, in a drain) is not counted.

    placement: which of the nodes that would do is taken (see `scoring`); pool_placement: by pool,
    where another way is wanted. levels: keys of node
    labels from coarse to fine; a gang is kept inside one domain of the finest that holds it.

    stability: where the bounds of stability levels are: measured = where stays have shown that the
    promise is kept, fixed = where they are assumed to be right. medium_survives, high_survives:
    what is promised, the chance of keeping a place for an hour.

    spot_quota: see there; it keeps a job waiting for spot_quota_wait_s at most. spot_horizon_h: so
    far the forecast looks ahead; spot_percentile: the part of all cases in which it is to be
    enough. spot_evictions: the part of all hours of spot jobs that may end in an eviction.
    spot_eta_min, spot_eta_max: bounds of the feedback; both 1 = none.

    on_spot: classes that may use nodes of spot capacity; a guaranteed job never does.
    max_decisions: events of one round. max_attempts: different shapes tried against the nodes.
    max_searches: searches for victims. max_looks: nodes looked at, equal ones counted once; about
    a hundred thousand a second. What is cut is reached by the rounds that follow.
    max_singles: how many candidates are tried as the only victim, where they are many.
    max_placements: how many sets of victims are tried for the best one, where they are few.
    """

    order: Order = Order.DEFAULT
    age_s: int = 600
    reserve_after_s: int = 600
    reserve_max_s: int = 14_400
    min_run_s: int = 0
    cool_down_s: int = 0
    cycle_window_s: int = 3600
    max_evictions_per_minute: int = 200
    stability: str = "measured"
    medium_survives: float = 0.8
    high_survives: float = 0.95
    spot_quota: SpotQuota = SpotQuota.OFF
    spot_quota_wait_s: int = 86_400
    spot_horizon_h: int = 1
    spot_percentile: float = 0.9
    spot_evictions: float = 0.04
    spot_eta_min: float = 0.1
    spot_eta_max: float = 2.0
    on_spot: frozenset[ResourceClass] = frozenset({ResourceClass.SPOT, ResourceClass.IDLE})
    placement: str = "default"
    pool_placement: tuple[tuple[str, str], ...] = ()
    levels: tuple[str, ...] = ()
    max_decisions: int = 990
    max_attempts: int = 5000
    max_searches: int = 200
    max_looks: int = 80_000
    max_singles: int = 32
    max_placements: int = 4096

    def placement_in(self, pool: str) -> str:
        """Return how nodes are chosen in a pool."""
        return dict(self.pool_placement).get(pool, self.placement)

    def promised(self, level: StabilityLevel) -> float | None:
        """Return the chance of keeping a place for an hour that a level promises; None = none."""
        match level:
            case StabilityLevel.LOW:
                return None
            case StabilityLevel.MEDIUM:
                return self.medium_survives
            case StabilityLevel.HIGH:
                return self.high_survives
