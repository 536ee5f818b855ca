"""The local backend: each worker is a process of this machine, on a node that may be pretended.

It holds nothing that the state directory does not: throw it away, or kill the process that has it,
and the next one on the same directory finds every worker, learns every exit, and signals the right
processes. One machine and one PID namespace to a directory. Every method does its work in a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import TypeVar

from muster.domain.errors import Temporary
from muster.domain.evidence import CheckpointFolder, NodeLine
from muster.executor.backends import Launch, NodeFacts, Observed, Signs, Words, WorkerKey
from muster.executor.backends.local import keeper
from muster.executor.backends.local.census import Census, Entry
from muster.executor.backends.local.checkpoints import look
from muster.executor.backends.local.launching import Launching, Ledger
from muster.executor.backends.local.listening import serves
from muster.executor.backends.local.logs import LogFile
from muster.executor.backends.local.nodes import NodeConfig, NodesFile, default_nodes
from muster.executor.backends.local.placement import LOOPBACK
from muster.executor.backends.local.processes import end_remains, remains
from muster.executor.backends.local.records import Records, folder_name
from muster.executor.backends.local.starting import start_keepers
from muster.executor.backends.local.witness import Witness

T = TypeVar("T")


class LocalBackend:
    """Implements `muster.executor.backends.Backend`.

    nodes: a `nodes.yaml`, or the nodes themselves; None makes them from this machine.
    workdir: where commands start whose launch names no directory. poll: seconds between two looks
    of `changes`. patience: seconds for keepers to start, after which an unclaimed worker is GONE.
    """

    def __init__(
        self,
        state_dir: Path,
        nodes: Path | Sequence[NodeConfig] | None = None,
        *,
        workdir: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        poll: float = 0.15,
        patience: float = 10.0,
    ) -> None:
        root = state_dir.absolute()
        self._records = Records(root)
        self._census = Census(self._records, patience)
        self._launching = Launching(self._records, (workdir or Path.cwd()).absolute(), environ)
        self._read_nodes = _reader(nodes)
        self._witness = Witness()
        self._errors = root / "keepers.log"
        self._poll = poll
        self._patience = patience

    async def nodes(self) -> Sequence[NodeFacts]:
        """Return every node; the file is read again when it has changed."""
        return await self._run(lambda: [node.facts() for node in self._read_nodes()])

    async def launch(self, launches: Sequence[Launch]) -> None:
        """Start all new workers or, raising Refused, none; finish what a crash left half done."""
        await self._run(lambda: self._launch(launches))

    async def observe(self) -> Sequence[Observed]:
        """Return every worker that has a record."""
        return await self._run(lambda: [_observed(entry) for entry in self._census.take().values()])

    async def signal(self, keys: Sequence[WorkerKey], deadline: datetime) -> None:
        """Write each worker's stop file (the deadline in UTC, ISO 8601), then SIGTERM, once."""
        if deadline.tzinfo is None:
            raise ValueError("a deadline needs a time zone")
        text = f"{deadline.astimezone(UTC).isoformat()}\n"
        await self._run(lambda: self._each(keys, lambda entry: _tell(entry, text)))

    async def kill(self, keys: Sequence[WorkerKey]) -> None:
        """Kill each worker's group; its keeper (or, without one, this) kills what fled from it."""
        await self._run(lambda: self._each(keys, _kill))

    async def forget(self, keys: Sequence[WorkerKey]) -> None:
        """Drop the records of ended workers; a living one keeps its record."""
        await self._run(lambda: self._forget(keys))

    def output(self, key: WorkerKey) -> LogFile | None:
        """Return the worker's log file, there or not; it outlives the worker's record."""
        return LogFile(self._records.log_of(key)) if folder_name(key) is not None else None

    async def words(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Words]:
        """Return who was killed for want of memory, where this machine's kernel says so."""
        return await self._run(lambda: self._witness.words(self._entries(keys)))

    async def node_lines(
        self,
        nodes: Sequence[str],
        since: datetime,
        until: datetime,
        keys: Sequence[WorkerKey] = (),
    ) -> Mapping[str, Sequence[NodeLine]]:
        """Return what each node's own file says, or this machine's kernel of these workers."""
        return await self._run(
            lambda: self._witness.lines(self._configs(nodes), self._entries(keys), since, until)
        )

    async def checkpoints(self, path: str) -> CheckpointFolder:
        """Look into the folder: a process of this machine sees the same."""
        return await self._run(lambda: look(Path(path)))

    async def signs(self, keys: Sequence[WorkerKey], *, stacks: bool) -> Mapping[WorkerKey, Signs]:
        """Return signs of life from /proc; of GPUs from `nvidia-smi`, where there is one."""
        return await self._run(
            lambda: self._witness.signs(self._entries(keys), self._read_nodes(), stacks=stacks)
        )

    async def serves(self, key: WorkerKey, port: int) -> str | None:
        """Return the address when a process of the worker listens there, by the system's word."""
        return await self._run(lambda: self._serves(key, port))

    def _serves(self, key: WorkerKey, port: int) -> str | None:
        for entry in self._entries((key,)):
            record = entry.record
            if record is None or entry.ended:
                continue
            if serves(remains(record.worker, str(entry.folder.stop_file)), port):
                return f"http://{LOOPBACK}:{port}"
        return None

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Look every `poll` seconds; raises what `observe` raises, then call it again."""
        seen: dict[WorkerKey, Observed] = {}
        while True:
            now = {each.key: each for each in await self.observe()}
            changed = frozenset(key.job for key, _ in seen.items() ^ now.items())
            seen = now
            if changed:
                yield changed
            await asyncio.sleep(self._poll)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise Temporary(f"the state directory or the system refused: {error}") from error

    def _launch(self, launches: Sequence[Launch]) -> None:
        nodes = {node.name: node for node in self._read_nodes()}
        with self._records.locked():
            ledger = Ledger(self._census.take().values())
            for new in self._launching.prepare(launches, nodes, ledger):
                self._records.add(new.name, new.plan, new.command)
        asked = self._entries(launch.key for launch in launches)
        unclaimed = [entry.folder.path for entry in asked if entry.record is None]
        start_keepers(unclaimed, self._errors, self._patience)

    def _configs(self, nodes: Sequence[str]) -> list[NodeConfig]:
        return [node for node in self._read_nodes() if node.name in set(nodes)]

    def _entries(self, keys: Iterable[WorkerKey]) -> list[Entry]:
        known = self._census.take()
        return [known[key] for key in keys if key in known]

    def _each(self, keys: Sequence[WorkerKey], act: Callable[[Entry], None]) -> None:
        for entry in self._entries(keys):
            if not entry.ended:
                act(entry)

    def _forget(self, keys: Sequence[WorkerKey]) -> None:
        for entry in self._entries(keys):
            name = folder_name(entry.key)
            if entry.ended and name is not None:
                self._records.remove(name, entry.key)


def _reader(
    nodes: Path | Sequence[NodeConfig] | None,
) -> Callable[[], Sequence[NodeConfig]]:
    if isinstance(nodes, Path):
        return NodesFile(nodes).read
    fixed = default_nodes() if nodes is None else tuple(nodes)
    return lambda: fixed


def _observed(entry: Entry) -> Observed:
    record, plan = entry.record, entry.plan
    return Observed(
        key=entry.key,
        node=plan.node,
        status=entry.status,
        exit_code=record.exit_code if record else None,
        started_at=_instant(record.started_at) if record else None,
        ended_at=_instant(record.ended_at) if record else None,
        log_path=plan.log,
        address=f"{LOOPBACK}:{plan.port}" if plan.leads else LOOPBACK,
        gpus=len(plan.slots),
    )


def _instant(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _tell(entry: Entry, text: str) -> None:
    folder = entry.folder
    folder.mark(keeper.STOP, text)
    record = folder.record()  # read after the mark: the keeper does it the other way round
    if record is None or record.state != keeper.RUNNING or folder.marked(keeper.TOLD):
        return
    if record.worker.signal_group(SIGTERM):
        folder.mark(keeper.TOLD)


def _kill(entry: Entry) -> None:
    folder = entry.folder
    folder.mark(keeper.KILL)
    record = folder.record()
    if record is None:
        folder.abandon()  # or a keeper comes first, and finds the mark
    elif record.state == keeper.RUNNING:
        record.worker.signal_group(SIGKILL)
        if not record.keeper.alive:
            end_remains(record.worker, str(folder.stop_file))
