"""Which jobs are asked for, and in which order they are listed.

Pure. The archive's statements (`store.search`) mean the same; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muster.domain.phases import Phase
from muster.domain.state import JobState


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Every condition must hold; None and () ask for nothing. phases: any of them.

    labels: each `key=value`, or a key alone; a job must match all of them.
    """

    tenant: str | None = None
    user: str | None = None
    pool: str | None = None
    phases: frozenset[Phase] = frozenset()
    labels: tuple[str, ...] = ()

    def matches(self, state: JobState) -> bool:
        """Tell whether a job is asked for."""
        return (
            self.tenant in {None, state.tenant}
            and self.user in {None, state.user}
            and self.pool in {None, state.pool}
            and (not self.phases or state.phase in self.phases)
            and (not self.labels or set(self.labels) <= label_texts(state))
        )


def label_texts(state: JobState) -> set[str]:
    """Return every text that a label filter may name a job by."""
    return {text for key, value in state.labels.items() for text in (key, f"{key}={value}")}


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """Where a job stands in a listing; the newest, which is the greatest, comes first."""

    submitted_at: datetime
    tenant: str
    job: str


def place_of(state: JobState) -> Place:
    """Return a job's place."""
    return Place(state.submitted_at, state.tenant, state.job)
