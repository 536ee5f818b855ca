"""Settings of the scheduler, from the environment (prefix MUSTER_SCHEDULER_)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from muster.domain.model import Token
from muster.scheduler.core.policy import Order, Policy, SpotQuota

PlacementPolicy = Literal["default", "fgd", "best_fit", "first_fit"]
StabilityBounds = Literal["measured", "fixed"]


class SchedulerSettings(BaseSettings):
    """pools: the ones to look after; none named = every pool there is.

    turn_s: between two turns while nothing happens. gather_s: from the first news to the turn that
    it wakes, so that what happens meanwhile is planned together; 0 = only turn_s counts.
    standby_look_s, standby_misses: so many looks without a sign of life of the leader while
    something is to be decided, and this scheduler takes over. checkpoint_s: between two
    checkpoints, 0 = none.
    order: of the queue: default, fifo_spot, fifo, fifo_skip or sjf.
    age_s: one point of priority (1-99) is worth so many seconds of waiting in the queue.
    reserve_after_s: after so long in the queue room is kept for a job that nothing but room keeps
    back; reserve_max_s: for so long at a stretch while limits prove no end, then twice as long,
    and so on, with pauses of this length; 0 = never.
    min_run_s, cool_down_s: how long a job runs before a higher one may evict it, and one that was
    evicted before. cycle_window_s: within so long nobody evicts the one for which it was evicted
    itself. max_evictions_per_minute: gangs of one pool, for jobs of higher priority. max_searches,
    max_looks: searches for victims in one round, and nodes that it looks at.
    placement: which of the nodes that would do is taken: default, fgd, best_fit or first_fit;
    pool_placement: by pool, where another way is wanted ({"pool": "fgd"}). levels: keys of node
    labels from coarse to fine (["zone", "switch"]): gangs are kept together at the finest that
    holds them.
    stability: bounds of the risk of idle jobs' levels: measured, or fixed where they are assumed to
    be right; medium_survives, high_survives: what levels promise, the chance of keeping a place
    for an hour.
    spot_quota: how much spot jobs may hold on ordinary nodes: off (whatever is free), no_forecast
    (what all other jobs do not ask for now) or forecast (what they are not expected to ask for
    within spot_horizon_h hours, once two days were watched); it keeps a job waiting for
    spot_quota_wait_s at most. spot_percentile: the part of all cases
    in which the forecast is to be enough. spot_evictions: the part of all hours of spot jobs that
    may end in an eviction; spot_eta_min, spot_eta_max: how far what happens may lower or raise the
    quota for that; both 1 = not at all.
    """

    model_config = SettingsConfigDict(env_prefix="MUSTER_SCHEDULER_", extra="forbid", frozen=True)

    pools: tuple[Token, ...] = ()
    turn_s: float = Field(default=0.1, gt=0, le=10)
    gather_s: float = Field(default=0.03, ge=0, le=10)
    standby_look_s: float = Field(default=3.0, gt=0)
    standby_misses: int = Field(default=3, ge=1)
    checkpoint_s: float = Field(default=60.0, ge=0)
    order: Order = Order.DEFAULT
    age_s: int = Field(default=600, ge=0, le=86_400)
    reserve_after_s: int = Field(default=600, ge=0, le=43_200)
    reserve_max_s: int = Field(default=14_400, ge=0, le=604_800)
    min_run_s: int = Field(default=0, ge=0)
    cool_down_s: int = Field(default=0, ge=0)
    cycle_window_s: int = Field(default=3600, ge=0, le=86_400)
    max_evictions_per_minute: int = Field(default=200, ge=1)
    max_searches: int = Field(default=200, ge=1)
    max_looks: int = Field(default=80_000, ge=1)
    placement: PlacementPolicy = "default"
    pool_placement: dict[Token, PlacementPolicy] = {}
    levels: tuple[str, ...] = ()
    stability: StabilityBounds = "measured"
    medium_survives: float = Field(default=0.8, gt=0, lt=1)
    high_survives: float = Field(default=0.95, gt=0, lt=1)
    spot_quota: SpotQuota = SpotQuota.OFF
    spot_quota_wait_s: int = Field(default=86_400, ge=300, le=604_800)
    spot_horizon_h: int = Field(default=1, ge=1, le=12)
    spot_percentile: float = Field(default=0.9, ge=0.5, le=0.999)
    spot_evictions: float = Field(default=0.04, ge=0.001, le=0.5)
    spot_eta_min: float = Field(default=0.1, gt=0, le=1)
    spot_eta_max: float = Field(default=2.0, ge=1, le=10)

    @property
    def policy(self) -> Policy:
        """Return what of this the core needs to know."""
        return Policy(
            order=self.order,
            age_s=self.age_s,
            reserve_after_s=self.reserve_after_s,
            reserve_max_s=self.reserve_max_s,
            min_run_s=self.min_run_s,
            cool_down_s=self.cool_down_s,
            cycle_window_s=self.cycle_window_s,
            max_evictions_per_minute=self.max_evictions_per_minute,
            max_searches=self.max_searches,
            max_looks=self.max_looks,
            placement=self.placement,
            pool_placement=tuple(sorted(self.pool_placement.items())),
            levels=self.levels,
            stability=self.stability,
            medium_survives=self.medium_survives,
            high_survives=self.high_survives,
            spot_quota=self.spot_quota,
            spot_quota_wait_s=self.spot_quota_wait_s,
            spot_horizon_h=self.spot_horizon_h,
            spot_percentile=self.spot_percentile,
            spot_evictions=self.spot_evictions,
            spot_eta_min=self.spot_eta_min,
            spot_eta_max=self.spot_eta_max,
        )
