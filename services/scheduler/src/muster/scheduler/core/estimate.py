"""What an explanation says of when a job will start: `eta` as data and in both languages.

Called for one waiting job that somebody asks about.
"""

from __future__ import annotations

from muster.domain.waiting import Estimate
from muster.scheduler.core.eta import ASSUMES, Eta, eta, say
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.snapshot import JobKey
from muster.scheduler.core.verdicts import Plan


def estimate(made: Plan, job: JobKey, memory: Memory | None = None) -> Estimate:
    """Estimate the start of a job that waits by this plan. memory: of walks alone."""
    return told(eta(made, job, memory))


def told(found: Eta) -> Estimate:
    """Put an estimate into an answer, with what it takes for granted if it names an instant."""
    said = say(found)
    named = found.low is not None or found.high is not None
    return Estimate(
        basis=found.basis.name if found.why is None else found.why.value,
        earliest=found.low,
        latest=found.high,
        en=f"{said.en}; {ASSUMES.en}" if named else said.en,
        zh=f"{said.zh}；{ASSUMES.zh}" if named else said.zh,
    )
