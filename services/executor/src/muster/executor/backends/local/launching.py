"""From launches to folders: refuse what cannot run, choose GPUs and ports, write everything down.

All of the new workers are planned before the first folder appears, under the lock of the state
directory, so that a gang is refused whole and two executors never choose the same GPU. It starts
nothing; `backend` calls it in a thread and then `starting`.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muster.executor.backends import Launch, WorkerKey
from muster.executor.backends.local.cards import Gpus
from muster.executor.backends.local.census import Entry
from muster.executor.backends.local.environment import worker_environment
from muster.executor.backends.local.nodes import NodeConfig
from muster.executor.backends.local.placement import free_port
from muster.executor.backends.local.records import NAME_LIMIT, Plan, Records, folder_name
from muster.executor.backends.refusals import Refusal, RefusalCode, Refused, refusal

if TYPE_CHECKING:
    from muster.executor.backends.local.keeper import Command


@dataclass(frozen=True, slots=True)
class Prepared:
    """One worker, ready to be written down."""

    name: str
    plan: Plan
    command: Command


class Ledger:
    """Which GPUs and ports are given away; grows while one call chooses."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.gpus: defaultdict[str, Gpus] = defaultdict(Gpus)
        self.ports: dict[tuple[str, int], int] = {}
        self._live_ports: set[int] = set()
        for entry in entries:
            self.ports[_attempt(entry.key)] = entry.plan.port
            if not entry.ended:
                plan = entry.plan
                self.gpus[plan.node].hold(plan.slots, plan.card, plan.milli)
                self._live_ports.add(entry.plan.port)

    def port(self, key: WorkerKey) -> int:
        """Return the port of the worker's attempt; the first one to ask gets a new one."""
        attempt = _attempt(key)
        if attempt not in self.ports:
            self.ports[attempt] = free_port(self._live_ports)
            self._live_ports.add(self.ports[attempt])
        return self.ports[attempt]


def _attempt(key: WorkerKey) -> tuple[str, int]:
    return key.job, key.attempt


class Launching:
    """Prepares launches for one state directory."""

    def __init__(self, records: Records, workdir: Path, environ: Mapping[str, str]) -> None:
        self._records = records
        self._workdir = workdir
        self._environ = environ

    def prepare(
        self, launches: Sequence[Launch], nodes: Mapping[str, NodeConfig], ledger: Ledger
    ) -> list[Prepared]:
        """Return what is new among the launches. Raises Refused with every reason at once."""
        refusals: list[Refusal] = []
        prepared: list[Prepared] = []
        for launch in launches:
            name = folder_name(launch.key)
            if name is not None and self._records.ever_started(launch.key, name):
                continue
            found = self._prepared(launch, name, nodes.get(launch.node), ledger)
            if isinstance(found, Refusal):
                refusals.append(found)
            else:
                prepared.append(found)
        if refusals:
            raise Refused(refusals)
        return prepared

    def _prepared(
        self, launch: Launch, name: str | None, node: NodeConfig | None, ledger: Ledger
    ) -> Prepared | Refusal:
        worker = launch.key.worker
        if name is None:
            shown = f"{launch.key.job}/{launch.key.attempt}/{worker}"
            return refusal(RefusalCode.BAD_NAME, worker, name=shown, limit=NAME_LIMIT)
        if node is None:
            return refusal(RefusalCode.NODE_UNKNOWN, worker, node=launch.node)
        slots = _gpus(launch, node, ledger.gpus[launch.node])
        if isinstance(slots, Refusal):
            return slots
        port = ledger.port(launch.key)
        env = worker_environment(
            launch,
            port=port,
            devices=node.visible(slots),
            stop_file=self._records.folder(name).stop_file,
            base=self._environ,
        )
        workdir = Path(launch.workdir) if launch.workdir else self._workdir
        if (objection := _objection(launch, env, workdir)) is not None:
            return objection
        ledger.gpus[launch.node].hold(slots, launch.card, launch.gpu_milli)
        log = str(self._records.log_of(launch.key))
        command: Command = {
            "args": list(launch.command),
            "env": env,
            "workdir": str(workdir),
            "log": log,
        }
        leads = launch.leader == worker
        plan = Plan(launch.node, slots, port, leads, log, launch.gpu_milli, launch.card)
        return Prepared(name, plan, command)


def _gpus(launch: Launch, node: NodeConfig, gpus: Gpus) -> tuple[int, ...] | Refusal:
    """Choose the GPUs of a worker, or the one that its shared card is."""
    foreign = node.foreign.gpus if node.foreign else 0
    if launch.gpu_milli:
        shared = gpus.share(launch.card, launch.gpu_milli, node.gpus, foreign)
        if shared is not None:
            return (shared,)
        wanted = {"wanted": launch.gpu_milli, "card": launch.card}
        return _refused(RefusalCode.NO_FREE_SHARE, launch, **wanted)
    free = gpus.free(node.gpus, foreign)
    if len(free) < launch.gpus:
        counts = {"free": len(free), "wanted": launch.gpus}
        return _refused(RefusalCode.NO_FREE_GPUS, launch, **counts)
    return free[: launch.gpus]


def _refused(code: RefusalCode, launch: Launch, **details: object) -> Refusal:
    return refusal(code, launch.key.worker, node=launch.node, **details)


def _objection(launch: Launch, env: Mapping[str, str], workdir: Path) -> Refusal | None:
    """Why the program itself cannot be started, as far as it can be known before."""
    worker = launch.key.worker
    if (why := _unusable(launch.command, env)) is not None:
        return refusal(RefusalCode.BAD_COMMAND, worker, why=why)
    if not workdir.is_dir():
        return refusal(RefusalCode.WORKDIR_NOT_FOUND, worker, workdir=workdir)
    program = launch.command[0]
    direct = os.sep in program
    found = shutil.which(workdir / program if direct else program, path=env["PATH"])
    if found is None:
        where = workdir if direct else env["PATH"]
        return refusal(RefusalCode.PROGRAM_NOT_FOUND, worker, program=program, where=where)
    return None


def _unusable(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    if not command or not command[0]:
        return "it is empty"
    if any("\0" in text for text in (*command, *env, *env.values())):
        return "it contains a NUL character"
    bad = [name for name in env if not name or "=" in name]
    return f"{bad[0]!r} is not a name of a variable" if bad else None
