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

TRIES = 20


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

    async def acquire(self) -> None:
        """Take the epoch, once; whoever held it before has lost it. Called before anything else."""
        for _ in range(TRIES):
            epoch, head = await self._last()
            try:
                await self._take(epoch + 1, head)
            except Conflict:
                continue
            self._taken = epoch + 1
            return
        raise Temporary("other executors take this cluster at the same time", delay=0.5)

    async def holds(self) -> bool:
        """Tell whether the cluster is this executor's."""
        if self._taken is None:
            return False
        self.lost = self.lost or (await self._last())[0] > self._taken
        return not self.lost

    async def require(self) -> None:
        """Raise LostCluster unless the cluster is this executor's."""
        if not await self.holds():
            raise LostCluster(f"another executor holds cluster {self._cluster}", delay=5.0)

    async def _last(self) -> tuple[int, int]:
        last = await self._journal.log.last(self._key, leader=True)
        return (last.event.data.detail.epoch, last.head) if last else (0, 0)

    async def _take(self, epoch: int, head: int) -> None:
        fact = EpochTaken(epoch=epoch, holder=self._name)
        basis = Basis(self._key, head)
        await self._journal.record(
            self._journal.about_pool(self._cluster, fact, basis, kind="cluster")
        )
