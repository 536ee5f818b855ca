"""The real executor service over a cluster that only says that it has nodes and workers.

Started as a process of its own: `python -m benchmarks.gangs_executor NODES GPUS [spot]`.
Workers run as soon as they are launched and are gone as soon as they are told to stop.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime

from muster.domain.edges import Owner
from muster.domain.evidence import CheckpointFolder, NodeLine
from muster.executor.backends import (
    Launch,
    NodeFacts,
    Observed,
    Signs,
    Words,
    WorkerKey,
    WorkerStatus,
)
from muster.executor.service import build
from muster.executor.settings import ExecutorSettings
from muster.runtime.process import run
from muster.runtime.service import Runtime, Service

STOPPED = 143
KILLED = 137

SETTINGS = ExecutorSettings(
    watch_s=0.02,
    nodes_s=2,
    sweep_s=30,
    publish_logs=False,
    collect_metrics=False,
    cluster="simulated",
)
"""Nothing is lost on one machine, so what sweeps would find is told by events and changes."""


class InstantBackend:
    """See `muster.executor.backends.Backend`."""

    def __init__(self, nodes: int, gpus: int, *, spot: bool = False) -> None:
        self._nodes = [
            NodeFacts(f"n{number:04d}", gpus, "virtual", cpus=1024, memory_mib=1 << 24, spot=spot)
            for number in range(nodes)
        ]
        self._workers: dict[WorkerKey, Observed] = {}
        self._changed: set[str] = set()
        self._news = asyncio.Event()

    async def nodes(self) -> Sequence[NodeFacts]:
        """See the port."""
        return self._nodes

    async def launch(self, launches: Sequence[Launch]) -> None:
        """See the port."""
        for each in launches:
            if each.key not in self._workers:
                seen = Observed(each.key, each.node, WorkerStatus.RUNNING, address=each.node)
                self._put(each.key, seen)

    async def observe(self) -> Sequence[Observed]:
        """See the port."""
        return list(self._workers.values())

    async def signal(self, keys: Sequence[WorkerKey], deadline: datetime) -> None:
        """See the port."""
        self._end(keys, STOPPED)

    async def kill(self, keys: Sequence[WorkerKey]) -> None:
        """See the port."""
        self._end(keys, KILLED)

    async def forget(self, keys: Sequence[WorkerKey]) -> None:
        """See the port."""
        for key in keys:
            self._workers.pop(key, None)

    def _end(self, keys: Iterable[WorkerKey], code: int) -> None:
        for key in keys:
            seen = self._workers.get(key)
            if seen is not None and seen.status is WorkerStatus.RUNNING:
                self._put(key, Observed(key, seen.node, WorkerStatus.EXITED, exit_code=code))

    def _put(self, key: WorkerKey, seen: Observed) -> None:
        self._workers[key] = seen
        self._changed.add(key.job)
        self._news.set()

    async def serves(self, key: WorkerKey, port: int) -> str | None:
        """See the port; nobody listens here."""
        return None

    def output(self, key: WorkerKey) -> None:
        """See the port: there is no output."""

    async def words(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Words]:
        """See the port: nothing is worded."""
        return {}

    async def node_lines(
        self,
        nodes: Sequence[str],
        since: datetime,
        until: datetime,
        keys: Sequence[WorkerKey] = (),
    ) -> Mapping[str, Sequence[NodeLine]]:
        """See the port: nodes say nothing."""
        return {}

    async def checkpoints(self, path: str) -> CheckpointFolder:
        """See the port: there are none."""
        return CheckpointFolder(path=path)

    async def signs(self, keys: Sequence[WorkerKey], *, stacks: bool) -> Mapping[WorkerKey, Signs]:
        """See the port: nobody can say."""
        return {}

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """See the port."""
        while True:
            await self._news.wait()
            self._news.clear()
            changed, self._changed = frozenset(self._changed), set()
            yield changed


def builder(nodes: int, gpus: int, *, spot: bool) -> Callable[[Runtime], Service]:
    """Return what builds the executor over so many nodes."""
    return lambda runtime: build(runtime, SETTINGS, InstantBackend(nodes, gpus, spot=spot))


if __name__ == "__main__":
    spot = sys.argv[3:] == ["spot"]
    run(Owner.EXECUTOR, builder(int(sys.argv[1]), int(sys.argv[2]), spot=spot))
