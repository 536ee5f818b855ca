"""What the rules find in everything that is known of a failure, each sign with whose it is. Pure.

Called by `diagnosis` alone. Nothing is weighed here: `ranking` says who failed first, `choice`
which sign is the cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.diagnosis import Source
from muster.domain.evidence import NodeEvidence, NodeLine, Scope, WorkerEvidence
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.rules import Hit, Role, Rule, Rulebook

BEFORE = timedelta(minutes=10)
"""Lines about a node count from so long before the failure ..."""
AFTER = timedelta(minutes=5)
"""... until so long after it: kernels and clusters write late."""

_NODE_SOURCES = {Scope.KERNEL: Source.KERNEL, Scope.NODE: Source.NODE, Scope.EVENT: Source.NODE}


@dataclass(frozen=True, slots=True)
class Sign:
    """One hit of a rule. at: when it happened, by the common clock, if that is known."""

    source: Source
    hit: Hit
    worker: str | None = None
    node: str | None = None
    at: datetime | None = None

    @property
    def rule(self) -> Rule:
        """The rule that matched."""
        return self.hit.rule

    @property
    def root(self) -> bool:
        """Whether it may be the cause."""
        return self.rule.role is Role.ROOT


@dataclass(frozen=True, slots=True)
class Signs:
    """All of a failure. pods, logs, exits: worker -> its signs. shadow: rules not in force yet."""

    pods: Mapping[str, tuple[Sign, ...]]
    logs: Mapping[str, tuple[Sign, ...]]
    exits: Mapping[str, tuple[Sign, ...]]
    nodes: tuple[Sign, ...]
    shadow: tuple[str, ...] = ()


def ended_at(worker: WorkerEvidence) -> datetime | None:
    """Return when a worker ended, by the common clock."""
    if worker.ended_at is None:
        return None
    return worker.ended_at - timedelta(seconds=worker.skew_s)


def moment_of(failure: Failure) -> datetime:
    """Return when the failure happened: the first end that is known."""
    ends = [at for worker in failure.workers if (at := ended_at(worker)) is not None]
    return min(ends, default=failure.at)


def gather(failure: Failure, book: Rulebook) -> Signs:
    """Read everything that there is once."""
    shadow: set[str] = set()
    moment = moment_of(failure)
    # what stopped a job that stands still happened before it was found to stand still
    since = moment - BEFORE - timedelta(seconds=failure.hung or 0)
    read = _Reader(book, moment, since, shadow)
    workers = failure.workers
    return Signs(
        pods=_kept((w.worker, read.pod(w)) for w in workers),
        logs=_kept((w.worker, read.log(w)) for w in workers),
        exits=_kept((w.worker, read.exit(w)) for w in workers),
        nodes=tuple(sign for node in failure.nodes for sign in read.node(node)),
        shadow=tuple(sorted(shadow)),
    )


def _kept(found: Iterable[tuple[str, Iterator[Sign]]]) -> dict[str, tuple[Sign, ...]]:
    signs = ((worker, tuple(some)) for worker, some in found)
    return {worker: some for worker, some in signs if some}


@dataclass(frozen=True, slots=True)
class _Reader:
    book: Rulebook
    moment: datetime
    since: datetime
    shadow: set[str]

    def _hits(self, scope: Scope, text: str, exit_code: int | None = None) -> Iterator[Hit]:
        for hit in self.book.read(scope, text, self.moment):
            if hit.rule.shadow:
                self.shadow.add(hit.rule.id)
            elif hit.rule.holds_at(None, exit_code):
                yield hit

    def pod(self, worker: WorkerEvidence) -> Iterator[Sign]:
        """Read how the cluster words a worker's end; what it says of the node counts, too."""
        text = f"reason={worker.reason} {worker.message}" if worker.reason else worker.message
        for scope in (Scope.POD, Scope.JOB, Scope.EVENT, Scope.NODE):
            for hit in self._hits(scope, text, worker.exit_code):
                yield Sign(Source.POD, hit, worker.worker, worker.node, ended_at(worker))

    def log(self, worker: WorkerEvidence) -> Iterator[Sign]:
        """Read the end of a worker's output."""
        ahead = timedelta(seconds=worker.skew_s)
        for hit in self._hits(Scope.LOG, worker.tail, worker.exit_code):
            at = hit.at - ahead if hit.at else None
            yield Sign(Source.LOG, hit, worker.worker, worker.node, at)

    def exit(self, worker: WorkerEvidence) -> Iterator[Sign]:
        """Read a worker's exit code."""
        if worker.exit_code is None:
            return
        for hit in self._hits(Scope.EXIT, f"exit={worker.exit_code}", worker.exit_code):
            yield Sign(Source.EXIT, hit, worker.worker, worker.node, ended_at(worker))

    def node(self, node: NodeEvidence) -> Iterator[Sign]:
        """Read what the kernel and the cluster said of a node around the failure."""
        for line in node.lines:
            source = _NODE_SOURCES.get(line.scope)
            if source is None:
                continue
            for hit in self._hits(line.scope, line.text):
                at = line.at or hit.at
                if self._near(line, at):
                    yield Sign(source, hit, None, node.node, at)

    def _near(self, line: NodeLine, at: datetime | None) -> bool:
        return at is None or self.since <= at <= self.moment + AFTER
