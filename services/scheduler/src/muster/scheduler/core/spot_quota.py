"""How much spot jobs may hold on ordinary nodes: what the forecast of all other demand leaves free.

Measured now and then by the cycle, from the last plan; `spot_room` keeps to it. Too small a quota
leaves nodes empty; with too large a one spot jobs start that are sent off soon. So it is moved by
how many were. Pure: what was measured last is all its memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist

from muster.domain.pools import SpotQuotaMeasured, SpotQuotaRow
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD, of_foreign
from muster.scheduler.core.forecast import foreseen, learned
from muster.scheduler.core.policy import Policy, SpotQuota
from muster.scheduler.core.quota import milli, milli_of, takes
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.spot_room import is_spot
from muster.scheduler.core.verdicts import Plan, Waiting

EVERY_S = 300.0
"""No two measurements are nearer than this."""

PERIOD_S = 3600.0
"""A spot job that ran so long undisturbed counts as much as one that was sent off."""

LEAST_EVICTIONS = 5.0
"""The feedback moves nothing before as many hours were seen as may have so many evictions."""

LONG_WAIT_S = 3600.0
"""The quota grows only while a spot job has waited so long for it."""

HALF_LIFE_S = 86_400.0
"""Of what the feedback remembers."""

STEEPEST = 0.5
"""One step takes no more than this part of the quota away."""

_COUNTED = frozenset(
    {
        Waiting.NO_ROOM,
        Waiting.NO_DOMAIN,
        Waiting.RESERVED,
        Waiting.EVICTION_LIMIT,
        Waiting.BEHIND,
        Waiting.NOT_REACHED,
    }
)
"""Verdicts of jobs that take room as soon as they can."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a pool shows of one model, in GPUs. jobs: spot jobs on ordinary nodes, in whole or in
    part. waits: a spot job has waited for the quota for long. evicted: spot jobs since the last
    measurement."""

    capacity: float = 0.0
    demand: float = 0.0
    held: float = 0.0
    jobs: int = 0
    evicted: int = 0
    waits: bool = False


def measure(made: Plan, now: datetime) -> SpotQuotaMeasured:
    """Return the quotas of a pool as it is after a plan. now: not before the plan's own."""
    last = made.snapshot.spot_quota
    since, now = (last.at, max(now, last.at)) if last else (now, now)
    seen = _look(made, now)
    rows = [
        row_of(model, found, last.of(model) if last else None, since, now, made.policy)
        for model, found in seen.items()
    ]
    # a model without a node at the moment teaches nothing, and is not forgotten
    rows += [row for row in last.rows if row.gpu_model not in seen] if last else []
    rows.sort(key=lambda row: row.gpu_model)
    upto = max(made.snapshot.now, last.upto) if last else made.snapshot.now
    return SpotQuotaMeasured(at=now, upto=upto, rows=tuple(rows))


def row_of(
    model: str,
    found: Found,
    before: SpotQuotaRow | None,
    since: datetime,
    now: datetime,
    policy: Policy,
) -> SpotQuotaRow:
    """Return the quota of one model. before: as it was last measured, at `since`."""
    history = learned(before.history if before else None, now, found.demand)
    evicted, kept = _sample(found, before, (now - since).total_seconds())
    eta, moved = feedback(before.eta if before else 1.0, evicted, kept, found.waits, policy)
    forecast: float | None = found.demand
    if policy.spot_quota is SpotQuota.FORECAST:
        z = NormalDist().inv_cdf(policy.spot_percentile)
        forecast = foreseen(history, now, found.demand, policy.spot_horizon_h, z)
    return SpotQuotaRow(
        gpu_model=model,
        capacity=found.capacity,
        demand=found.demand,
        forecast=None if forecast is None else round(forecast, 3),
        held=found.held,
        quota=None if forecast is None else quota(found.capacity, forecast, eta),
        eta=eta,
        evicted=0.0 if moved else evicted,
        kept=0.0 if moved else kept,
        history=history,
    )


def quota(capacity: float, forecast: float, eta: float) -> float:
    """Return how much spot jobs may hold: never less than nothing, never more than there is."""
    return round(min(capacity, max(0.0, capacity - forecast) * eta), 3)


def _sample(found: Found, before: SpotQuotaRow | None, seconds: float) -> tuple[float, float]:
    """Return evictions and undisturbed hours, older ones counting less."""
    fades = 0.5 ** (seconds / HALF_LIFE_S)
    watched = min(seconds, 2 * EVERY_S)  # of a longer gap nobody knows who ran
    evicted = (before.evicted if before else 0.0) * fades + found.evicted
    kept = (before.kept if before else 0.0) * fades + found.jobs * watched / PERIOD_S
    return round(evicted, 3), round(kept, 3)


def feedback(
    eta: float, evicted: float, kept: float, waits: bool, policy: Policy
) -> tuple[float, bool]:
    """Return the factor, and whether it was moved: then the sample begins anew.

    Down in proportion where half as many again were evicted as may be, up by at most a half where
    it were less than half as many and somebody waits for it.
    """
    low, high, target = policy.spot_eta_min, policy.spot_eta_max, policy.spot_evictions
    bounded = min(high, max(low, eta))
    hours = evicted + kept
    if hours * target < LEAST_EVICTIONS:
        return bounded, False
    rate = evicted / hours
    if rate >= 1.5 * target:
        factor = max(STEEPEST, target / rate)
    elif rate <= 0.5 * target and waits:
        factor = 1.5 - rate / target
    else:
        return bounded, False
    return min(high, max(low, round(bounded * factor, 4))), True


# --- what a pool shows ---------------------------------------------------------------------------


def _look(made: Plan, now: datetime) -> dict[str, Found]:
    """Return what is to be seen of each model of ordinary nodes."""
    models = {n.node: n.shape.gpu_model for n in made.snapshot.nodes if not n.shape.spot}
    capacity = _capacity(made.snapshot)
    demand, held, jobs = Counter[str](), Counter[str](), Counter[str]()
    for job in made.snapshot.book.holding.values():
        amounts = _held(job.state, models)
        if job.state.demand.tier >= _OTHERS:
            demand.update(amounts)
        elif is_spot(job.state):
            held.update(amounts)
            jobs.update(amounts.keys())
    for state, count in _queued(made):
        _wish(state, count, capacity, demand)
    evicted = _evicted(made.snapshot)
    waits = set(_waits(made, now))
    return {
        model: Found(
            capacity=capacity[model] / CARD,
            demand=demand[model] / CARD,
            held=held[model] / CARD,
            jobs=jobs[model],
            evicted=evicted[model],
            waits=model in waits,
        )
        for model in {*capacity, *demand, *held}
    }


_OTHERS = 2
"""From this tier on jobs take their room back from spot jobs."""


def _capacity(snapshot: Snapshot) -> Counter[str]:
    found = Counter[str]()
    for node in snapshot.nodes:
        if node.schedulable and node.shape.gpus and not node.shape.spot:
            own = max(0, node.shape.gpus - of_foreign(node.foreign).gpus)
            found[node.shape.gpu_model] += CARD * own
    return found


def _held(state: JobState, models: Mapping[str, str]) -> Counter[str]:
    found = Counter[str]()
    for node, workers in state.held.items():
        amount = sum(milli_of(state, worker) for worker in workers) if node in models else 0
        if amount:
            found[models[node]] += amount
    return found


def _queued(made: Plan) -> Iterator[tuple[JobState, int]]:
    """Yield jobs that take room as soon as they can, with how many are alike."""
    for waiter, count, verdict in made.verdicts.groups():
        if verdict is None or verdict.why in _COUNTED:
            state = waiter.read().state
            if state.demand.tier >= _OTHERS:
                yield state, count


def _wish(state: JobState, count: int, capacity: Counter[str], demand: Counter[str]) -> None:
    """Count a wish for the model of which most is left of those that would do."""
    for role in state.demand.roles:
        models = [model for model in sorted(capacity) if takes(role, model)]
        if models and milli(role):
            model = max(models, key=lambda one: capacity[one] - demand[one])
            demand[model] += milli(role) * role.replicas * count


def _evicted(snapshot: Snapshot) -> Counter[str]:
    """Count from where the last measurement ended up to this plan, whose own are yet to come."""
    last = snapshot.spot_quota
    since = last.upto if last else snapshot.now
    told = (one for one in snapshot.evictions if since <= one.at < snapshot.now)
    return Counter(model for one in told for model in one.spot_models)


def _waits(made: Plan, now: datetime) -> Iterator[str]:
    """Yield the models of which a spot job has waited for the quota for long."""
    for waiter, _, verdict in made.verdicts.groups():
        if verdict is None or verdict.why is not Waiting.SPOT_QUOTA or verdict.stock is None:
            continue
        if (now - waiter.since).total_seconds() >= LONG_WAIT_S:
            yield verdict.stock.gpu_model
