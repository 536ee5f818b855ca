"""What the executor knows of a job's workers at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Seen(StrEnum):
    """alive: it runs, or nobody can say that it does not. ended: its exit code is known.

    gone: proof that it no longer runs, exit unknown.
    """

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker of one attempt.

    node_down: its node is lost or fenced and is not spot capacity, so its end is a failure of the
    infrastructure. When spot capacity goes, the scheduler evicts: that is no failure.
    """

    attempt: int
    name: str
    node: str
    seen: Seen
    exit_code: int | None = None
    ended_at: datetime | None = None
    log: str | None = None
    node_down: bool = False

    @property
    def alive(self) -> bool:
        """Whether it still runs, or may."""
        return self.seen in {Seen.STARTING, Seen.RUNNING}

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.seen is Seen.ENDED and self.exit_code == 0

    @property
    def failed(self) -> bool:
        """Whether it ended badly, vanished, or went down with its node."""
        return (
            self.seen is Seen.GONE
            or self.node_down
            or (self.seen is Seen.ENDED and self.exit_code != 0)
        )


@dataclass(frozen=True, slots=True)
class View:
    """All workers of a job that the cluster shows, of every attempt.

    fenced: nodes on which, by proof, nothing runs. down: nodes that are lost. taken: nodes of spot
    capacity that are gone; the scheduler evicts, so an end there that nobody saw is no failure.
    victims_gone: every victim that this job waits for holds nothing any more.
    """

    workers: tuple[Worker, ...]
    fenced: frozenset[str] = frozenset()
    victims_gone: bool = True
    down: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()

    def of(self, attempt: int) -> dict[str, Worker]:
        """Workers of one attempt by name."""
        return {w.name: w for w in self.workers if w.attempt == attempt}

    def outlived(self, attempt: int) -> tuple[Worker, ...]:
        """Workers of earlier attempts that are seen to run, on fenced nodes too.

        Never of a later attempt: then it is the state in hand that is old.
        """
        return tuple(w for w in self.workers if w.alive and w.attempt < attempt)

    def alive(self) -> tuple[Worker, ...]:
        """Workers of any attempt that run, or may; those on fenced nodes do not."""
        return tuple(w for w in self.workers if w.alive and w.node not in self.fenced)
