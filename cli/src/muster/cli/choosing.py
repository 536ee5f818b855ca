"""Finds the job that a person means: by id, by the start of an id, or by its name.

Pure. An abbreviation must mean one job only; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from muster.cli.errors import CliError
from muster.cli.texts import say

if TYPE_CHECKING:
    from muster.domain.state import JobState

SHOWN = 5
SHORT = 8
"""Characters of an id that lists show; enough to be unique among some thousands of jobs."""


def choose(jobs: Iterable[JobState], text: str) -> JobState:
    """Return the one job that `text` means. Raises CliError for none and for several."""
    known = list(jobs)
    for meaning in (_by_id, _by_name, _by_start):
        found = meaning(known, text)
        if len(found) == 1:
            return found[0]
        if found:
            raise CliError("many_jobs", text=text, count=len(found), jobs=_names(found))
    raise CliError("no_job", text=text)


def _by_id(jobs: Sequence[JobState], text: str) -> list[JobState]:
    return [job for job in jobs if text in {job.job, f"{job.tenant}/{job.job}"}]


def _by_name(jobs: Sequence[JobState], text: str) -> list[JobState]:
    return [job for job in jobs if text in {job.name, f"{job.tenant}/{job.name}"}]


def _by_start(jobs: Sequence[JobState], text: str) -> list[JobState]:
    return [job for job in jobs if job.job.startswith(text)]


def _names(jobs: Sequence[JobState]) -> str:
    newest = sorted(jobs, key=lambda job: job.submitted_at, reverse=True)
    shown = [f"{job.job} ({job.phase})" for job in newest[:SHOWN]]
    return say("comma").join(shown + (["…"] if len(newest) > SHOWN else []))


def short(job: str) -> str:
    """Return the start of an id, as lists show it."""
    return job[:SHORT]
