"""Who may act on a cluster: the holder of `clusters.<c>.epoch`, and nobody else.

An executor takes the epoch once, when it starts. As soon as a newer one stands in the log it has
lost the cluster and does nothing more.
"""

from __future__ import annotations

from muster.contracts import subjects
from muster.domain.errors import Conflict, Temporary
from muster.domain.pools import EpochTaken
from muster.log import Basis
from muster.runtime.journal import Journal


class LostCluster(Temporary):
    """Another executor looks after this cluster now."""


class Holder:
    """This executor's claim on its cluster."""

    def __init__(self, journal: Journal, cluster: str) -> None:
        self._journal, self._cluster = journal, cluster
        self._key = subjects.cluster_key(cluster, "epoch")
        self._name = journal.new_id()
        self._taken: int | None = None
        self.lost = False

    async def holds(self) -> bool:
        """Take the epoch if it was never taken; tell whether it is still this executor's."""
        if self.lost:
            return False
        last = await self._journal.log.last(self._key, leader=True)
        epoch = last.event.data.detail.epoch if last else 0
        if self._taken is None:
            return await self._take(epoch + 1, last.head if last else 0)
        self.lost = epoch > self._taken
        return not self.lost

    async def require(self) -> None:
        """Raise LostCluster unless the cluster is this executor's."""
        if not await self.holds():
            raise LostCluster(f"another executor holds cluster {self._cluster}", delay=5.0)

    async def _take(self, epoch: int, head: int) -> bool:
        fact = EpochTaken(epoch=epoch, holder=self._name)
        append = self._journal.about_pool(
            self._cluster, fact, Basis(self._key, head), kind="cluster"
        )
        try:
            await self._journal.record(append)
        except Conflict as error:
            raise Temporary("two executors start at once", delay=0.5) from error
        self._taken = epoch
        return True
