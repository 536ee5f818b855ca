"""A plan as one atomic batch: as many of its moves as fit, and the record of the round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muster.domain.edges import IllegalEdge
from muster.domain.facts import Declined, Preempted, Scheduled
from muster.domain.pools import RoundDecided
from muster.log import Append
from muster.runtime.journal import Journal
from muster.scheduler.core.clocks import counts_for, owes_proof
from muster.scheduler.core.snapshot import JobKey
from muster.scheduler.core.verdicts import Move, Plan
from muster.scheduler.cycle.fold import PoolFold

MAX_MESSAGES = 1000
"""Of one batch, the record of the round included."""


@dataclass(frozen=True, slots=True)
class Batch:
    """appends: without the record. refused: the move that cannot be written, and all after it."""

    appends: tuple[Append, ...]
    record: RoundDecided
    moves: tuple[Move, ...]
    refused: Move | None = None

    @property
    def jobs(self) -> frozenset[JobKey]:
        """Return the jobs of the refused move."""
        if self.refused is None:
            return frozenset()
        return frozenset(decision.job for decision in self.refused.decisions)


def build(made: Plan, fold: PoolFold, journal: Journal, epoch: int, limit: int) -> Batch | None:
    """Return the batch of a plan with at most `limit` messages; None if there is nothing to say."""
    appends: list[Append] = []
    taken: list[Move] = []
    refused = None
    for move in made.moves:
        if taken and len(appends) + len(move.decisions) >= limit:
            break
        try:
            appends += _appends(move, fold, journal)
        except IllegalEdge:
            refused = move
            break
        taken.append(move)
    cut = frozenset(one.job for move in made.moves[len(taken) :] for one in move.decisions)
    if not taken and refused is None and not owes_proof(made, cut):
        return None
    return Batch(tuple(appends), _record(made, fold, epoch, taken, cut), tuple(taken), refused)


def _appends(move: Move, fold: PoolFold, journal: Journal) -> list[Append]:
    return [
        journal.about_job(fold.jobs[decision.job].recorded, decision.fact)
        for decision in move.decisions
    ]


def _record(
    made: Plan, fold: PoolFold, epoch: int, taken: Sequence[Move], cut: frozenset[JobKey]
) -> RoundDecided:
    last = fold.last_round
    decided = sum(move.count(Scheduled) + move.count(Declined) for move in taken)
    return RoundDecided(
        epoch=epoch,
        round=last.round + 1 if last else 1,
        upto=made.snapshot.upto,
        at=counts_for(made, cut),
        scheduled=sum(move.count(Scheduled) for move in taken),
        preempted=sum(move.count(Preempted) for move in taken),
        waiting=made.snapshot.book.waiting - decided,
        remainder=made.unreached + len(cut),
    )
