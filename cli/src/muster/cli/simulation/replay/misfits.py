"""Jobs that the nodes of a workload could never hold, not even all empty and all there.

They are named and left out: who waits for what cannot be says nothing about a scheduler.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from muster.cli.simulation.replay.intake import POOL, submission
from muster.cli.simulation.replay.settings import Settings
from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeState
from muster.domain.waiting import Why, WhyCode
from muster.domain.waiting_words import why
from muster.scheduler.core import texts
from muster.scheduler.core.fitting import Fitting
from muster.scheduler.core.snapshot import Snapshot
from muster.testing.virtual_time import START


@dataclass(frozen=True, slots=True)
class Misfit:
    """A job that never fits, and why."""

    job_id: str
    why: Why


def split(workload: Workload, settings: Settings) -> tuple[Workload, tuple[Misfit, ...]]:
    """Return the workload without the jobs that never fit, and these in order."""
    nodes = {
        name: NodeState(pool=POOL, node=name, cluster=POOL, shape=shape, since=START)
        for name, shape in workload.nodes.items()
    }
    empty = Snapshot(pool=POOL, now=START, upto=0, nodes=tuple(nodes.values()), jobs=())
    fitting = Fitting(nodes, settings.policy, empty)
    known: dict[Hashable, Why | None] = {}
    rows, misfits = [], []
    for row in workload.rows:
        shape = replace(row, number=0, place="", job_id="", submit_s=0, duration_s=0)
        if shape not in known:
            known[shape] = _never(row, settings, fitting)
        if (reason := known[shape]) is None:
            rows.append(row)
        else:
            misfits.append(Misfit(row.job_id, reason))
    return replace(workload, rows=tuple(rows)), tuple(misfits)


def _never(row: Row, settings: Settings, fitting: Fitting) -> Why | None:
    """Say why a job never fits; None if it may, or if admission is to refuse it."""
    submitted = submission(row, settings)
    if not isinstance(submitted, f.Submitted):
        return None
    verdict = fitting.never_fits(evolve(None, submitted, START))
    if verdict is None or verdict.short is None:
        return None
    short = verdict.short
    return why(
        WhyCode.NEVER_FITS,
        role=short.role.name,
        need=short.need,
        fits=short.fits,
        spec=texts.spec(short.role),
    )
