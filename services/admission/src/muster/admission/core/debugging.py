"""A job to look inside of what another one was: the same in all but what it runs. Pure."""

from __future__ import annotations

from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.spec import DebugSpec, FaultToleranceSpec, JobSpec, ProgressSpec

COMMAND = ("sleep", "inf")
SUFFIX = "-debug"
LONGEST_NAME = 40


def debug_spec(origin: JobSpec) -> JobSpec:
    """Return the specification of a job that holds the same resources and only waits.

    Nothing starts it again by itself: neither after an eviction nor after a failure.
    """
    return origin.model_copy(
        update={
            "name": debug_name(origin.name),
            "command": COMMAND,
            "auto_queue": AutoQueueSpec(),
            "fault_tolerance": FaultToleranceSpec(),
            "debug": DebugSpec(),
            "progress": ProgressSpec(),
        }
    )


def debug_name(name: str) -> str:
    """Return the name of a job that looks into one of this name, or into one that does already."""
    return name.removesuffix(SUFFIX)[: LONGEST_NAME - len(SUFFIX)] + SUFFIX
