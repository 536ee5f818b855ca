"""The alarm of a stored deadline, and the lines of output and telemetry that may be lost."""

from __future__ import annotations

from datetime import datetime

from muster.contracts import subjects
from muster.domain.edges import Owner
from muster.domain.model import Frozen, Instant
from muster.domain.state import DeadlineKind


class Alarm(Frozen):
    """Rings at `at`, maybe late, twice, or after it no longer counts; checked against the state.

    by_server: what the server's clock shows then, where it is not on Muster's time.
    """

    owner: Owner
    kind: DeadlineKind
    tenant: str
    job: str
    version: int
    at: Instant
    by_server: Instant | None = None

    @property
    def rings_at(self) -> datetime:
        """When it rings, by the server's clock."""
        return self.by_server or self.at

    def to_bytes(self) -> bytes:
        """Return it as it is sent."""
        return self.model_dump_json(exclude_none=True).encode()

    @property
    def waits_on(self) -> str:
        """Subject of the scheduled message."""
        return subjects.timer_subject(self.owner, self.kind, self.tenant, self.job)

    @property
    def rings_on(self) -> str:
        """Subject on which it is delivered."""
        return subjects.alarm_subject(self.owner, self.kind, self.tenant, self.job)


class LogLines(Frozen):
    """Some lines of one worker's output, best effort. first: number of the first line, from 0."""

    tenant: str
    job: str
    attempt: int
    worker: str
    first: int
    lines: tuple[str, ...]
