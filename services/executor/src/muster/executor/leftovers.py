"""Processes that run under our name and stand in nobody's books: counted as foreign use.

A leftover of a job that the log does not know, or that gave its node back, still has its GPUs. It
is never made a job again: what is wanted, only the log says; what is used, only the cluster. Called
by the handlers when they compare nodes.
"""

from __future__ import annotations

from collections import Counter

from muster.domain.nodes import ForeignUse
from muster.executor.backends import Backend, Observed, WorkerKey, WorkerStatus
from muster.executor.watch import Watch
from muster.log import EventLog

_ALIVE = (WorkerStatus.STARTING, WorkerStatus.RUNNING)


class Leftovers:
    """Remembers for each worker that is in no books how far the log went when it was first seen.

    A worker is launched after its job holds the node, and the node is given back after the worker
    is gone. So one that lives although the books were read to that point is in none of them.
    """

    def __init__(self, backend: Backend, watch: Watch, log: EventLog) -> None:
        self._backend, self._watch, self._log = backend, watch, log
        self._since: dict[WorkerKey, int] = {}

    async def gpus(self) -> Counter[str]:
        """Return how many GPUs leftovers have on which node."""
        position, held = self._watch.position, self._watch.held()
        seen = [w for w in await self._backend.observe() if w.status in _ALIVE]
        strange = [w for w in seen if w.key.worker not in held.get((w.key.job, w.node), ())]
        await self._note(strange)
        found: Counter[str] = Counter()
        for worker in strange:
            if position >= self._since[worker.key]:
                found[worker.node] += worker.gpus
        return found

    async def _note(self, strange: list[Observed]) -> None:
        end = 0
        if any(worker.key not in self._since for worker in strange):
            end = await self._log.end()
        self._since = {w.key: self._since.get(w.key, end) for w in strange}


def with_leftovers(foreign: ForeignUse | None, gpus: int) -> ForeignUse | None:
    """Return foreign use with the GPUs of leftovers added."""
    if not gpus:
        return foreign
    before = foreign or ForeignUse()
    return before.model_copy(update={"gpus": before.gpus + gpus})
