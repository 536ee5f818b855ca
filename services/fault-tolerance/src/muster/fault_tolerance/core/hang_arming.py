"""When nobody may be called hung, however still it is. Pure.

Only an attempt that runs, by its own will, on nodes that are in order. Every reason has a code;
people read the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState


class Unarmed(StrEnum):
    """Why a job's silence is not judged."""

    OFF = "off"
    NOT_RUNNING = "not_running"
    SLEEPS = "sleeps"
    NODE = "node"
    INCIDENT = "incident"
    FROZEN = "frozen"


_SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash", "-c", "-lc", "exec"}
_FOR_EVER = ("inf", "infinity")


def sleeps_on_purpose(command: Sequence[str]) -> bool:
    """Tell whether a command only keeps its place, as that of a debugging job does."""
    words = [word for part in command for word in part.split() if word not in _SHELLS]
    return len(words) == 2 and words[0].endswith("sleep") and words[1] in _FOR_EVER


def unarmed(
    state: JobState,
    nodes: Mapping[str, NodeState],
    *,
    sleeps: bool,
    incident: bool = False,
    frozen: bool = False,
) -> Unarmed | None:
    """Return why the job is not watched, or None if it is.

    nodes: those of its pool, by name. sleeps: its command only keeps its place. incident: one is
    open that concerns it. frozen: so many nodes are silent that nothing destructive is done.
    """
    if state.demand.hang is None:
        return Unarmed.OFF
    if state.phase is not Phase.RUNNING or state.eviction is not None or state.signalled:
        return Unarmed.NOT_RUNNING
    if sleeps:
        return Unarmed.SLEEPS
    if frozen:
        return Unarmed.FROZEN
    if incident:
        return Unarmed.INCIDENT
    if any(not _in_order(nodes.get(name)) for name in state.held):
        return Unarmed.NODE
    return None


def _in_order(node: NodeState | None) -> bool:
    """A node that nobody knows is no reason; one that leaves, or is out, is."""
    return node is None or (node.condition is NodeCondition.READY and not node.draining)
