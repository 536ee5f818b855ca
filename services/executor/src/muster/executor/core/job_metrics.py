"""What becomes of a job's own metrics before anybody sees them: whose they are is ours to say.

Labels that the platform sets win, in whatever case a job writes them; the job's are renamed, as
Prometheus does. Timestamps are dropped: a job does not say when it was asked. Pure; called by
`job_metrics`, which asks the workers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.state import JobState

Labels = Mapping[str, str]

OURS = (
    "cluster",
    "orgname",
    "user",
    "module",
    "task_type",
    "task_name",
    "task_uuid",
    "resource_pool",
    "region",
    "worker",
)
"""Labels of every series of a job: the platform's, and which of its workers it is from."""

RENAMED = "exported_"
OWN = "muster_"
"""The beginning of the platform's own metrics, which no job's may have."""

MODULE = "training"
LONGEST = 512
"""Characters of a label's value; the rest is cut off."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Scraped(StrEnum):
    """What came of asking a worker; few, so that it may be a label."""

    OK = "ok"
    NOT_SERVED = "not_served"
    REFUSED = "refused"
    SLOW = "slow"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    UNREADABLE = "unreadable"
    NO_ROOM = "no_room"


@dataclass(frozen=True, slots=True)
class Series:
    """One figure. name: as in the exposition, e.g. x_bucket."""

    name: str
    labels: Labels
    value: float


def platform_labels(state: JobState, cluster: str, region: str, worker: str) -> dict[str, str]:
    """Return the labels that say whose a series is. region: the zone of the worker's node."""
    return {
        "cluster": cluster,
        "orgname": state.tenant,
        "user": state.user,
        "module": MODULE,
        "task_type": state.type.value,
        "task_name": state.name,
        "task_uuid": state.job,
        "resource_pool": state.pool,
        "region": region,
        "worker": worker,
    }


def owned(series: Series, ours: Labels) -> Series | None:
    """Return a job's series with our labels; None when it has a label that cannot be one."""
    if any(_LABEL.fullmatch(name) is None for name in series.labels):
        return None
    kept: dict[str, str] = {}
    for name, value in sorted(series.labels.items()):
        kept[_free(name, kept, ours)] = value[:LONGEST]
    return Series(renamed(series.name), kept | dict(ours), series.value)


def _free(name: str, kept: Labels, ours: Labels) -> str:
    """Return a name that neither we nor the job use already."""
    while name.lower() in ours or name in kept:
        name = RENAMED + name
    return name


def renamed(name: str) -> str:
    """Return the name of a metric that cannot be taken for one of the platform's."""
    return RENAMED + name if name.lower().startswith(OWN) else name
