"""Who may decide in a pool: the writer of its newest epoch, for as long as it is the newest.

A starting scheduler takes the epoch at once; whoever led before is fenced by the log from that
event on, and stands by. A scheduler that stands by plans as the leader would. It takes over when
there was something to decide at several looks in a row and no scheduler has written anything since
the first of them. So a pool at rest needs no heartbeats, and nobody fights: a leader that works
writes.
"""

from __future__ import annotations

from muster.contracts import subjects
from muster.domain.errors import Conflict
from muster.domain.pools import EpochTaken
from muster.log import Basis
from muster.runtime.journal import Journal
from muster.scheduler.cycle.fold import PoolFold

PATIENCE_GROWS = 4
"""After so many take-overs a scheduler's patience grows no further."""


class Leadership:
    """This scheduler's claim on one pool. mine: sequence of its epoch while that is the newest."""

    def __init__(self, journal: Journal, fold: PoolFold, holder: str) -> None:
        self._journal, self._fold, self._holder = journal, fold, holder
        self._key = subjects.pool_key(fold.pool, EpochTaken.event)
        self.epoch = 0
        self.mine: int | None = None
        self.takeovers = 0
        self._misses = 0
        self._seen_sign = -1

    @property
    def basis(self) -> Basis:
        """Return the condition of everything that a leader writes."""
        assert self.mine is not None
        return Basis(self._key, self.mine)

    @property
    def superseded(self) -> bool:
        """Tell whether another one's epoch came after ours."""
        return self.mine is not None and self._fold.epoch_head > self.mine

    def step_down(self) -> None:
        """Lead no longer."""
        self.mine = None
        self._misses = 0

    async def take(self, *, again: bool = False) -> int | None:
        """Write the next epoch; return its sequence, None if another one was faster.

        again: only to renew a claim after an unknown outcome, never to push another one out.
        """
        last = await self._journal.log.last(self._key, leader=True)
        detail = last.event.data.detail if last else None
        if again and detail is not None and detail.holder != self._holder:
            return None
        epoch = detail.epoch + 1 if detail else 1
        fact = EpochTaken(epoch=epoch, holder=self._holder)
        basis = Basis(self._key, last.head if last else self._fold.epoch_head)
        try:
            recorded = await self._journal.record(
                self._journal.about_pool(self._fold.pool, fact, basis)
            )
        except Conflict:
            return None
        self.epoch, self.mine, self._misses = epoch, recorded.seq, 0
        return recorded.seq

    def missed(self, *, work_waits: bool) -> int:
        """Note one look at a pool that another one leads; return the looks without sign of life."""
        alive = self._fold.sign != self._seen_sign
        self._seen_sign = self._fold.sign
        self._misses = self._misses + 1 if work_waits and not alive else 0
        return self._misses
