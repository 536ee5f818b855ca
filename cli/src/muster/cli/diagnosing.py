"""Logs from files as one failure, judged as a running Muster would judge it.

Called by `muster diagnose` alone. Nothing is asked of a cluster: what files do not tell is unknown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from muster.cli.errors import CliError
from muster.domain.diagnosis import Diagnosis, Stage
from muster.domain.evidence import NodeEvidence, NodeLine, Scope, WorkerEvidence
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.lines import TAIL, lines
from muster.fault_tolerance.core.rules import Hit, Rulebook

_RANK = re.compile(
    r"(?:rank|worker|proc|task)[-_.]?(\d{1,5})|(?<!\d)(\d{1,5})$", re.IGNORECASE | re.ASCII
)
_WIDEST = 4
"""Bytes that one character may take in UTF-8."""
_BROKEN = 10
"""One character in so many that is none makes a file no text."""


@dataclass(frozen=True, slots=True)
class Log:
    """One file. rank: as its name tells, or the next that is free."""

    name: str
    rank: int
    text: str

    @property
    def odd(self) -> str | None:
        """Why it may tell nothing: `empty`, or `binary`; None = it is a log."""
        if not self.text.strip():
            return "empty"
        broken = self.text.count("\0") + self.text.count("\ufffd")
        return "binary" if broken * _BROKEN > len(self.text) else None


@dataclass(frozen=True, slots=True)
class Found:
    """A line that a rule matched. worker: of whose log; None = of the kernel."""

    file: str
    worker: str | None
    hit: Hit


@dataclass(frozen=True, slots=True)
class Judged:
    """What came out: the judgement, and every line that any rule matched."""

    diagnosis: Diagnosis
    found: tuple[Found, ...]
    logs: tuple[Log, ...]

    def file_of(self, worker: str | None) -> str | None:
        """Return the file that is this worker's."""
        return next((log.name for log in self.logs if f"worker-{log.rank}" == worker), None)


def read_logs(files: Sequence[str]) -> tuple[Log, ...]:
    """Read the end of each file; `-` is the standard input. Raises CliError."""
    texts = {file: _tail(file) for file in dict.fromkeys(files)}
    ranks: dict[str, int] = {}
    for file in texts:
        told = _rank(file)
        if told is not None and told not in ranks.values():
            ranks[file] = told
    for file in texts:
        if file not in ranks:
            ranks[file] = next(n for n in range(len(texts)) if n not in ranks.values())
    logs = (Log(file, ranks[file], text) for file, text in texts.items())
    return tuple(sorted(logs, key=lambda log: log.rank))


def _rank(file: str) -> int | None:
    stem = Path(file).name.split(".")[0] if file != "-" else ""
    found = _RANK.search(stem) or _RANK.search(Path(file).stem if file != "-" else "")
    return int(found[1] or found[2]) if found else None


def _tail(file: str) -> str:
    """Return as much of the end as rules read."""
    try:
        if file == "-":
            return sys.stdin.read()[-TAIL - 1 :]
        with Path(file).open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - TAIL * _WIDEST - _WIDEST))
            return stream.read().decode("utf-8", errors="replace")
    except OSError as error:
        why = error.strerror or str(error)
        raise CliError("log_read", path=file, why=why) from error


def judge(
    logs: Sequence[Log],
    book: Rulebook,
    *,
    exit_code: int,
    kernel: Log | None = None,
    stage: Stage | None = None,
    now: datetime | None = None,
) -> Judged:
    """Judge the logs of one attempt. kernel: of the node of the first log."""
    now = now or datetime.now(UTC)
    workers = tuple(_worker(log, exit_code, now) for log in logs)
    nodes = () if kernel is None else (_node(workers[0].node, kernel.text),)
    failure = Failure(
        tenant="-",
        job="-",
        user="-",
        attempt=1,
        at=now,
        workers=workers,
        nodes=nodes,
        stage=stage,
    )
    diagnosis = diagnose(failure, book, now)
    return Judged(diagnosis, tuple(_everything(logs, kernel, book, now)), tuple(logs))


def _worker(log: Log, exit_code: int, now: datetime) -> WorkerEvidence:
    stamps = [line.at for line in lines(log.text, now) if line.at]
    return WorkerEvidence(
        worker=f"worker-{log.rank}",
        node=f"node-of-worker-{log.rank}",
        rank=log.rank,
        exit_code=exit_code,
        ended_at=max(stamps, default=None),
        tail=log.text,
    )


def _node(name: str, text: str) -> NodeEvidence:
    told = (line for line in text[-TAIL:].split("\n") if line.strip())
    return NodeEvidence(
        node=name, lines=tuple(NodeLine(scope=Scope.KERNEL, text=line) for line in told)
    )


def _everything(
    logs: Iterable[Log], kernel: Log | None, book: Rulebook, now: datetime
) -> Iterable[Found]:
    for log in logs:
        for hit in book.read(Scope.LOG, log.text, now):
            yield Found(log.name, f"worker-{log.rank}", hit)
    if kernel is not None:
        for hit in book.read(Scope.KERNEL, kernel.text, now):
            yield Found(kernel.name, None, hit)
