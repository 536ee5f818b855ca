"""What everybody may know of a pool between two rounds: what is free, and why jobs wait."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from muster.domain.pools import PoolSummary, StabilityMeasured, WaitingJob
from muster.domain.waiting_words import spoken, steady
from muster.scheduler.core.explain import why_of
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Listed
from muster.scheduler.core.steadiness import judge
from muster.scheduler.core.verdicts import Plan, Verdict, Waiting
from muster.scheduler.cycle.fold import PoolFold

LONGEST_QUEUE = 50
"""So many waiting jobs are named; the others are only counted."""

EVERY_S = 2.0
"""No two summaries are nearer than this."""
PER_JOB_S = 0.2
"""Each job that is named adds so much to it: a long queue is told of less often."""

JUDGE_EVERY_S = 600.0
"""No two tellings of how long idle jobs keep their places are nearer than this. A bound moves by
one band each time."""


def summarise(made: Plan, told: PoolSummary | None = None) -> PoolSummary:
    """Return the summary of a pool after a plan. told: the last one."""
    open_nodes = [node for node in made.snapshot.nodes if node.schedulable]
    return PoolSummary(
        nodes=len(open_nodes),
        gpus=sum(node.shape.gpus for node in open_nodes),
        gpus_free=sum(max(0, made.board.free(node.node).gpus) for node in open_nodes),
        waiting=len(made.verdicts),
        queue=tuple(_queue(made, told)),
    )


def _queue(made: Plan, told: PoolSummary | None) -> Iterator[WaitingJob]:
    before = {(one.tenant, one.job): one for one in told.queue} if told else {}
    for ahead, (key, job, verdict) in enumerate(islice(made.verdicts.waiting(), LONGEST_QUEUE)):
        said = _said(made, job, verdict, ahead)
        yield _unless_known(said, before.get(key), verdict)


def _said(made: Plan, job: Listed, verdict: Verdict, ahead: int) -> WaitingJob:
    why = steady(why_of(made, job, verdict))
    words = spoken(why, made.snapshot.pool)
    tenant, name = job.key
    return WaitingJob(
        tenant=tenant,
        job=name,
        code=why.code,
        en=words.en,
        zh=words.zh,
        ahead=ahead,
        tier=why.tier,
        numbers=why.numbers,
    )


def _unless_known(said: WaitingJob, before: WaitingJob | None, verdict: Verdict) -> WaitingJob:
    """A round that did not get to a job does not make forgotten what the last one found."""
    if verdict.why is not Waiting.NOT_REACHED or before is None:
        return said
    return before.model_copy(update={"ahead": said.ahead})


def judged(fold: PoolFold, now: datetime, policy: Policy) -> StabilityMeasured | None:
    """Return how long idle jobs keep their places, if that is not what was told last."""
    told, stays = fold.told_stability, fold.stays_at(now)
    if not stays and told is None:
        return None
    found = judge(stays, policy, told)
    return None if found == told else found


def pause_after(summary: PoolSummary) -> float:
    """Return the seconds until the next summary may follow."""
    return max(EVERY_S, PER_JOB_S * len(summary.queue))
