"""The list of jobs: one line each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.choosing import short
from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.views.states import reason_text, shown
from muster.cli.words import between
from muster.domain.demand import Demand, Role
from muster.domain.state import JobState
from muster.domain.usage import CARD


def job_table(jobs: Sequence[JobState], now: datetime, waits: dict[str, str]) -> Table:
    """Return the jobs as a table. waits: job -> why it is not running yet."""
    titles = ("job", "name", "tenant", "user", "state", "since", "gang", "where", "why")
    made = table(*(say(f"column.{title}") for title in titles))
    for job in jobs:
        row(
            made,
            Text(short(job.job), "bold"),
            job.name,
            job.tenant,
            job.user,
            shown(job),
            between(job.since, now),
            gang(job.demand),
            ", ".join(job.held) or "-",
            waits.get(job.job) or reason_text(job.reason),
        )
    return made


def gang(demand: Demand) -> str:
    """Return the size of a gang: workers x GPUs, and the class of capacity."""
    shapes = "+".join(f"{role.replicas}x{_gpus(role)}" for role in demand.roles)
    return f"{shapes} {demand.resource_class}"


def _gpus(role: Role) -> str:
    """Return the GPUs of a worker, a share of one as a fraction."""
    return f"{role.gpu_milli / CARD:g}" if role.gpu_milli else str(role.gpus)


def job_document(job: JobState, why: str = "") -> dict[str, Any]:
    """Return a job for JSON: its whole state, with `why` it is not running."""
    return job.model_dump(mode="json") | {"waiting_because": why or None}
