"""When the archive holds a job's whole history, and what may be done then.

Pure. A history is whole when every version from 1 to the last one is there, each once or more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from muster.domain.facts import Archived
from muster.domain.state import JobState


def missing(versions: Iterable[int], upto: int) -> tuple[int, ...]:
    """Return the versions from 1 to `upto` that are not there, in order."""
    return tuple(sorted(set(range(1, upto + 1)) - set(versions)))


def may_be_archived(state: JobState) -> bool:
    """Tell whether nothing more will happen to a job by itself, and this is not on the log yet."""
    return state.terminal and not state.held and not state.archived


def archive(state: JobState, whole_upto: int) -> Archived | None:
    """Decide about a job whose archive is whole up to a version; None = not now."""
    if not may_be_archived(state) or state.version > whole_upto:
        return None
    return Archived(phase=state.phase)


def may_be_trimmed(state: JobState, now: datetime, hot: timedelta) -> bool:
    """Tell whether a job's events may leave the hot log; its last event always stays."""
    return state.archived and state.ended_at is not None and now >= state.ended_at + hot
