"""What would become of a job in the next round: the dry run of a job that is queued or only tried.

The same `plan` decides; here its decisions about one job are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.domain.waiting import Explanation, Fit, FitOutcome, Victim
from muster.scheduler.core.explain import explain_by, is_declined
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.rank import lost_work
from muster.scheduler.core.remedies import move_of
from muster.scheduler.core.snapshot import JobKey
from muster.scheduler.core.verdicts import Decision, Move, Plan

TRIED = "zz-tried"
"""Id of a job that is only tried: no request makes it, and of equals it is the last."""


def tried(tenant: str, user: str, spec: JobSpec, at: datetime) -> JobState:
    """Return the job as it would stand in the queue if it was admitted at this instant."""
    submitted = f.Submitted(
        tenant=tenant,
        job=TRIED,
        user=user,
        pool=spec.resource.pool,
        request=TRIED,
        digest="",
        spec=spec,
        demand=spec.demand(),
    )
    return evolve(evolve(None, submitted, at), f.Admitted(), at)


def fit_of(
    made: Plan,
    job: JobKey,
    explained: Explanation | None = None,
    memory: Memory | None = None,
    walks: Memory | None = None,
) -> Fit:
    """Return what a plan does with a queued job. Raises KeyError for a job it does not know.

    explained: the explanation, where there is one already. memory, walks: see
    `explain_by`.
    """
    listed = made.snapshot.job(job)
    if listed is None:
        raise KeyError(job)
    demand = listed.state.demand
    gpus, workers = demand.gpus, len(demand.workers)
    gpu_milli = demand.gpu_milli
    move = move_of(made, job)
    if move is None:
        outcome = FitOutcome.DECLINED if is_declined(made, job) else FitOutcome.WAITS
        return Fit(
            outcome=outcome,
            gpus=gpus,
            gpu_milli=gpu_milli,
            workers=workers,
            explanation=explained or explain_by(made, job, memory, walks),
        )
    scheduled = _scheduled(move, job)
    return Fit(
        outcome=FitOutcome.PLACED,
        gpus=gpus,
        gpu_milli=gpu_milli,
        workers=workers,
        placement=scheduled.placement,
        victims=tuple(_victims(made, move, job)),
        leaving=tuple(sorted(wait.job for wait in scheduled.waits_for)),
        wait_s=scheduled.grace_s if scheduled.waits_for else 0,
        outlook=scheduled.outlook,
    )


def _scheduled(move: Move, job: JobKey) -> f.Scheduled:
    found = next(one.fact for one in move.decisions if one.job == job)
    assert isinstance(found, f.Scheduled)
    return found


def _victims(made: Plan, move: Move, job: JobKey) -> Iterator[Victim]:
    holding = made.snapshot.book.holding
    for one in move.decisions:
        if one.job != job:
            yield _victim(one, holding[one.job].state, made.snapshot.now)


def _victim(decision: Decision, state: JobState, now: datetime) -> Victim:
    fact = decision.fact
    return Victim(
        tenant=state.tenant,
        job=state.job,
        name=state.name,
        user=state.user,
        cause=str(fact.cause) if isinstance(fact, f.Preempted) else None,
        gpus=state.demand.gpus,
        gpu_milli=state.demand.gpu_milli,
        lost_gpu_s=round(lost_work(state, now)),
    )
