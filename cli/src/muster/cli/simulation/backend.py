"""The executor's port to a pretended cluster: what it is shown, late, partly, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from muster.domain.errors import Temporary
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
from muster.executor.backends.refusals import Refusal, RefusalCode, Refused, refusal
from muster.log.memory import LogFault
from muster.testing.cluster import Life, Share, SimCluster, SimNode, SimWorker, WorkerId
from muster.testing.gates import Gate, ProcessHooks
from muster.testing.scripts import WORKING
from muster.testing.virtual_time import START, VirtualTime

WHOLE = 1000
"""Thousandths of one card."""

_STATUS = {
    Life.STARTING: WorkerStatus.STARTING,
    Life.RUNNING: WorkerStatus.RUNNING,
    Life.EXITED: WorkerStatus.EXITED,
    Life.GONE: WorkerStatus.GONE,
}


class SimBackend:
    """See `muster.executor.backends.Backend`; one for each life of an executor."""

    def __init__(self, cluster: SimCluster, time: VirtualTime, hooks: ProcessHooks) -> None:
        self._cluster, self._time, self._hooks = cluster, time, hooks

    async def nodes(self) -> Sequence[NodeFacts]:
        """See the port."""
        await self._before("cluster nodes")
        facts = [_facts(node) for node in self._cluster.nodes.values() if node.present]
        await self._hooks.after("cluster nodes")
        return facts

    async def launch(self, launches: Sequence[Launch]) -> None:
        """See the port. When the answer is lost, any part of the gang may have been started."""
        fault = await self._before("cluster launch")
        new = [each for each in launches if _id(each.key) not in self._cluster.workers]
        refusals = self._refusals(new)
        if refusals:
            raise Refused(refusals)
        started = new[: len(new) // 2 + 1] if fault is LogFault.UNKNOWN_STORED else new
        for each in started:
            who, now = _id(each.key), self._time.elapsed
            share = Share(each.card, each.gpu_milli) if each.gpu_milli else None
            self._cluster.start(who, each.node, each.gpus, now, self._time.step, share)
        await self._after("cluster launch", fault)

    def _refusals(self, launches: Sequence[Launch]) -> list[Refusal]:
        wanted: dict[str, _Wanted] = {}
        found: list[Refusal] = []
        for each in launches:
            worker, node = each.key.worker, self._cluster.nodes.get(each.node)
            why = self._cluster.script_of(_id(each.key)).refused
            if why is not None:
                found.append(refusal(RefusalCode.BAD_COMMAND, worker, why=why))
            if node is None or not node.present:
                found.append(refusal(RefusalCode.NODE_UNKNOWN, worker, node=each.node))
                continue
            there = wanted.setdefault(each.node, _Wanted(self._cluster.shares(each.node)))
            there.add(each)
            free = self._cluster.free_gpus(each.node)
            if there.gpus > free:
                numbers = {"node": each.node, "free": free, "wanted": there.gpus}
                found.append(refusal(RefusalCode.NO_FREE_GPUS, worker, **numbers))
            if each.gpu_milli and there.shares[each.card] > WHOLE:
                share = {"node": each.node, "card": each.card, "wanted": each.gpu_milli}
                found.append(refusal(RefusalCode.NO_FREE_SHARE, worker, **share))
        return found

    async def observe(self) -> Sequence[Observed]:
        """See the port."""
        await self._before("cluster observe")
        seen = [self._shown(worker) for worker in self._cluster.workers.values()]
        await self._hooks.after("cluster observe")
        return seen

    def _shown(self, worker: SimWorker) -> Observed:
        return Observed(
            key=WorkerKey(worker.id.job, worker.id.attempt, worker.id.worker),
            node=worker.node,
            status=_STATUS[worker.life],
            exit_code=worker.exit_code,
            started_at=_instant(worker, worker.up_at),
            ended_at=_instant(worker, worker.ended_at),
            address=worker.node,
            gpus=worker.gpus + (worker.share is not None),
        )

    async def signal(self, keys: Sequence[WorkerKey], deadline: datetime) -> None:
        """See the port."""
        await self._effect("cluster signal", keys, partial(self._cluster.tell, deadline=deadline))

    async def kill(self, keys: Sequence[WorkerKey]) -> None:
        """See the port."""
        await self._effect("cluster kill", keys, self._cluster.kill)

    async def forget(self, keys: Sequence[WorkerKey]) -> None:
        """See the port."""
        await self._effect("cluster forget", keys, self._cluster.forget)

    async def _effect(
        self, name: str, keys: Sequence[WorkerKey], act: Callable[[WorkerId, float], None]
    ) -> None:
        fault = await self._before(name)
        for key in keys:
            act(_id(key), self._time.elapsed)
        self._cluster.catch_up(self._time.elapsed)
        await self._after(name, fault)

    async def _before(self, name: str) -> LogFault:
        fault = await self._hooks.before(name)
        if fault is LogFault.LOST:
            raise Temporary("the cluster is away", delay=1.0)
        return fault

    async def _after(self, name: str, fault: LogFault) -> None:
        await self._hooks.after(name)
        if fault is LogFault.UNKNOWN_STORED:
            raise Temporary("the cluster did not answer", delay=1.0)

    async def serves(self, key: WorkerKey, port: int) -> str | None:
        """See the port; nobody listens here."""
        return None

    def output(self, key: WorkerKey) -> PretendedOutput | None:
        """See the port: what its script lets it print until now; gone with its record."""
        worker = self._cluster.workers.get(_id(key))
        return PretendedOutput(worker, self._time) if worker is not None else None

    async def words(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Words]:
        """See the port."""
        await self._before("cluster words")
        known = ((key, self._cluster.workers.get(_id(key))) for key in keys)
        return {
            key: Words(worker.script.reason, worker.script.message)
            for key, worker in known
            if worker is not None and worker.by_itself and worker.script.reason
        }

    async def node_lines(
        self,
        nodes: Sequence[str],
        since: datetime,
        until: datetime,
        keys: Sequence[WorkerKey] = (),
    ) -> Mapping[str, Sequence[NodeLine]]:
        """See the port."""
        await self._before("cluster lines")
        return {
            name: [
                line for line in self._said(name) if line.at is None or since <= line.at <= until
            ]
            for name in nodes
        }

    def _said(self, name: str) -> list[NodeLine]:
        node = self._cluster.nodes.get(name)
        return [
            NodeLine(scope=scope, text=text, at=None if at is None else _at(at + self._time.step))
            for at, scope, text in (node.said if node is not None else ())
        ]

    async def checkpoints(self, path: str) -> CheckpointFolder:
        """See the port."""
        await self._before("cluster checkpoints")
        return CheckpointFolder(path=path, found=self._cluster.checkpoints.get(path, ()))

    async def signs(self, keys: Sequence[WorkerKey], *, stacks: bool) -> Mapping[WorkerKey, Signs]:
        """See the port; a machine that is cut off shows nothing."""
        await self._before("cluster signs")
        known = ((key, self._cluster.workers.get(_id(key))) for key in keys)
        return {
            key: self._signs(worker, stacks=stacks)
            for key, worker in known
            if worker is not None and worker.alive and self._cluster.nodes[worker.node].reachable
        }

    def _signs(self, worker: SimWorker, *, stacks: bool) -> Signs:
        cpu_s, moved, now = worker.vitals(self._time.elapsed)
        place = f"{WORKING} {cpu_s}" if now.stack == WORKING else now.stack
        return Signs(
            cpu_s=cpu_s,
            state=now.state,
            stack=place if stacks else None,
            standing=place if stacks else None,
            gpu=now.gpu,
            gpu_watts=now.watts,
            moved=int(moved),
        )

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """See the port."""
        return _Changes(self._cluster, self._hooks)


class PretendedOutput:
    """See WorkerOutput."""

    def __init__(self, worker: SimWorker, time: VirtualTime) -> None:
        self._worker, self._time = worker, time

    def _printed(self) -> bytes:
        return self._worker.printed(self._time.elapsed).encode()

    def size(self) -> int:
        """See WorkerOutput."""
        return len(self._printed())

    def read(self, offset: int, most: int) -> bytes:
        """See WorkerOutput."""
        return self._printed()[offset : offset + most]


class _Wanted:
    """What one launch wants of one node. shares: thousandths of each card, with those given."""

    def __init__(self, shares: dict[int | None, int]) -> None:
        self.gpus, self.shares = 0, shares

    def add(self, launch: Launch) -> None:
        """Add one worker; a card that nobody is on takes a GPU."""
        self.gpus += launch.gpus
        if launch.gpu_milli:
            self.gpus += launch.card not in self.shares
            self.shares[launch.card] = self.shares.get(launch.card, 0) + launch.gpu_milli


class _Changes:
    """Waits at a gate that opens when a worker has changed; what exists comes first."""

    def __init__(self, cluster: SimCluster, hooks: ProcessHooks) -> None:
        self._cluster, self._hooks, self._seen = cluster, hooks, 0

    def __aiter__(self) -> AsyncIterator[frozenset[str]]:
        return self

    async def __anext__(self) -> frozenset[str]:
        await self._hooks.gate(Gate("cluster changes", "before", self._nothing))
        changed = self._cluster.changed_since(self._seen)
        self._seen = self._cluster.version
        return changed

    def _nothing(self) -> bool:
        return self._cluster.version == self._seen


def _instant(worker: SimWorker, second: float | None) -> datetime | None:
    if second is None:
        return None
    return _at(second + worker.clock_off)


def _at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def _id(key: WorkerKey) -> WorkerId:
    return WorkerId(key.job, key.attempt, key.worker)


def _facts(node: SimNode) -> NodeFacts:
    shape = node.shape
    return NodeFacts(
        node=node.name,
        gpus=shape.gpus,
        gpu_model=shape.gpu_model,
        cpus=shape.cpus,
        memory_mib=shape.memory_mib,
        spot=shape.spot,
        zone=shape.zone,
        labels=shape.labels,
        reclaim_at=node.reclaim_at,
        extended=shape.extended,
        taints=shape.taints,
        foreign=node.foreign,
    )
