"""What everybody may know of a pool between two rounds: what is free, and why jobs wait."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from muster.domain.pools import PoolSummary, WaitingJob
from muster.scheduler.core.explain import reason_of
from muster.scheduler.core.verdicts import Plan

LONGEST_QUEUE = 50
"""So many waiting jobs are named; the others are only counted."""

EVERY_S = 2.0
"""No two summaries are nearer than this."""
PER_JOB_S = 0.2
"""Each job that is named adds so much to it: a long queue is told of less often."""


def summarise(made: Plan) -> PoolSummary:
    """Return the summary of a pool after a plan."""
    open_nodes = [node for node in made.snapshot.nodes if node.schedulable]
    return PoolSummary(
        nodes=len(open_nodes),
        gpus=sum(node.shape.gpus for node in open_nodes),
        gpus_free=sum(max(0, made.board.free(node.node).gpus) for node in open_nodes),
        waiting=len(made.verdicts),
        queue=tuple(_queue(made)),
    )


def _queue(made: Plan) -> Iterator[WaitingJob]:
    for ahead, (key, job, verdict) in enumerate(islice(made.verdicts.waiting(), LONGEST_QUEUE)):
        why = reason_of(made, job, verdict)
        yield WaitingJob(
            tenant=key[0], job=key[1], code=verdict.why, en=why.en, zh=why.zh, ahead=ahead
        )


def pause_after(summary: PoolSummary) -> float:
    """Return the seconds until the next summary may follow."""
    return max(EVERY_S, PER_JOB_S * len(summary.queue))
