"""Why a job is not running yet: what the scheduler said of it last.

The pool's summary names the first jobs of the queue; of the others their own reason is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muster.cli.texts import language, say
from muster.cli.views.states import reason_text
from muster.cli.words import plain
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.pools import PoolSummary, WaitingJob
from muster.domain.state import JobState

if TYPE_CHECKING:
    from muster.cli.reach import Reach


async def reasons_why(muster: Reach, jobs: Iterable[JobState]) -> dict[str, str]:
    """Return job -> why it waits, for the queued ones of which it is known."""
    queued = [job for job in jobs if job.phase is Phase.QUEUED]
    summaries = {pool: await muster.pool(pool) for pool in {job.pool for job in queued}}
    found = {job.job: why(job, summaries[job.pool]) for job in queued}
    return {job: text for job, text in found.items() if text}


def why(job: JobState, summary: PoolSummary | None) -> str:
    """Return why a queued job waits: the last round's words, else its own reason, else ""."""
    told = place_in(job, summary)
    if told is not None:
        return plain(told.zh if language() == "zh" else told.en)
    return reason_text(job.reason)


def elsewhere(job: JobState, nodes: Iterable[NodeState]) -> str:
    """Name the pools that have nodes to a queued job whose own pool has none; else ""."""
    pools = {node.pool for node in nodes if node.condition is not NodeCondition.GONE}
    if job.phase is not Phase.QUEUED or job.pool in pools or not pools:
        return ""
    return say("explain.elsewhere", pool=job.pool, pools=say("comma").join(sorted(pools)))


def place_in(job: JobState, summary: PoolSummary | None) -> WaitingJob | None:
    """Return what the last round said of a job, if it named it."""
    return summary.place_of(job.tenant, job.job) if summary is not None else None
