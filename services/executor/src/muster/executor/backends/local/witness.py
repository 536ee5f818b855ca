"""What this machine can tell of workers that failed or are silent: the backend's eyes, no hands.

Joins the records with /proc, the kernel's lines and the GPUs. Nothing is kept between two looks.
Blocks: `backend` calls it in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from signal import SIGKILL

from muster.domain.evidence import NodeLine
from muster.executor.backends import Signs, Words, WorkerKey
from muster.executor.backends.local import kernel
from muster.executor.backends.local.census import Entry
from muster.executor.backends.local.logs import LogFile
from muster.executor.backends.local.nodes import NodeConfig
from muster.executor.backends.local.signs import Processes, gpu_use, signs_of
from muster.executor.backends.local.stacks import standing

KILLED = 128 + SIGKILL
OOM_KILLED = "OOMKilled"


class Witness:
    """See the module."""

    def words(self, entries: Sequence[Entry]) -> dict[WorkerKey, Words]:
        """Name those that the kernel killed for want of memory: its own line is the only proof."""
        killed = {e.key: e.record for e in entries if e.record and e.record.exit_code == KILLED}
        if not killed:
            return {}
        lines = kernel.machine_lines()
        found = {k: kernel.out_of_memory(lines, record.worker_pid) for k, record in killed.items()}
        return {key: Words(OOM_KILLED, line) for key, line in found.items() if line is not None}

    def lines(
        self,
        nodes: Sequence[NodeConfig],
        workers: Sequence[Entry],
        since: datetime,
        until: datetime,
    ) -> dict[str, list[NodeLine]]:
        """Return the lines about each node, the newest of them if there are many."""
        shared = [] if all(node.kernel_log for node in nodes) else kernel.machine_lines()
        found: dict[str, list[NodeLine]] = {}
        for node in nodes:
            if node.kernel_log is not None:
                lines = iter(kernel.file_lines(node.kernel_log))
            else:
                lines = kernel.about(shared, _pids_on(node.name, workers))
            found[node.name] = list(kernel.within(lines, since, until))[-kernel.MOST_LINES :]
        return found

    def signs(
        self, entries: Sequence[Entry], nodes: Sequence[NodeConfig], *, stacks: bool
    ) -> dict[WorkerKey, Signs]:
        """Return the signs of those that live."""
        living = [(each, each.record) for each in entries if not each.ended and each.record]
        if not living:
            return {}
        processes, gpus = Processes(), gpu_use()
        named = {node.name: node for node in nodes}
        found: dict[WorkerKey, Signs] = {}
        for entry, record in living:
            signs = signs_of(
                record,
                _devices(entry, named.get(entry.plan.node)),
                processes,
                gpus,
                standing(processes.of(record)) if stacks else None,
                LogFile(Path(entry.plan.log)).size(),
            )
            if signs is not None:
                found[entry.key] = signs
        return found


def _pids_on(node: str, workers: Sequence[Entry]) -> set[int]:
    return {each.record.worker_pid for each in workers if each.record and each.plan.node == node}


def _devices(entry: Entry, node: NodeConfig | None) -> list[str]:
    names = node.visible(entry.plan.slots) if node is not None and entry.plan.slots else ""
    return [name for name in names.split(",") if name]
