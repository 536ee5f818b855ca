"""A snapshot as it would be if: nodes closed, opened, added or gone, a job gone, another priority.

Pure; called before a plan that is only looked at. What names nothing in the pool is a violation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muster.domain.demand import ResourceClass
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.rules import violation
from muster.domain.state import JobState
from muster.domain.violations import Violation
from muster.domain.whatif import AddNodes, OnNode, StopJob, WhatIf
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, key_of

SHOWN = 5
MOST_READ = 5000
"""So many queued jobs are read to find one by its name."""


def imagine(
    snapshot: Snapshot, what_ifs: Sequence[WhatIf], root: str = "$.what_if"
) -> Snapshot | list[Violation]:
    """Return the snapshot with every what-if, one after the other; all violations if any."""
    wrong: list[Violation] = []
    for index, what_if in enumerate(what_ifs):
        found = _imagined(snapshot, what_if, f"{root}[{index}]")
        if isinstance(found, Violation):
            wrong.append(found)
        else:
            snapshot = found
    return wrong or snapshot


def _imagined(snapshot: Snapshot, what_if: WhatIf, path: str) -> Snapshot | Violation:
    match what_if:
        case OnNode():
            return _on_node(snapshot, what_if, path)
        case AddNodes():
            return _add(snapshot, what_if, path)
        case StopJob():
            return _stop(snapshot, what_if, path)


def _node(snapshot: Snapshot, name: str, path: str) -> NodeState | Violation:
    for node in snapshot.nodes:
        if node.node == name and node.condition is not NodeCondition.GONE:
            return node
    return violation("E_WHAT_IF_NODE", path, pool=snapshot.pool)


def _on_node(snapshot: Snapshot, what_if: OnNode, path: str) -> Snapshot | Violation:
    found = _node(snapshot, what_if.node, path)
    if isinstance(found, Violation):
        return found
    changes = _CHANGES[what_if.verb] | (
        {"condition": _uncordoned(found)} if _opens(what_if) else {}
    )
    changed = found.model_copy(update=changes)
    return replace(
        snapshot, nodes=tuple(changed if node is found else node for node in snapshot.nodes)
    )


_CHANGES: dict[str, dict[str, object]] = {
    "cordon": {"cordoned": True},
    "drain": {"cordoned": True, "draining": True},
    "uncordon": {
        "cordoned": False,
        "draining": False,
        "suspected": False,
        "excluded_until": None,
        "exclusions": 0,
        "deadline": None,
    },
    "remove": {"condition": NodeCondition.GONE},
}
"""What the fact of the same name does to a node; a node that is removed is gone at once."""


def _opens(what_if: OnNode) -> bool:
    return what_if.verb == "uncordon"


def _uncordoned(node: NodeState) -> NodeCondition:
    taken = {NodeCondition.RECLAIMING, NodeCondition.FENCED}
    return NodeCondition.READY if node.condition in taken else node.condition


def _add(snapshot: Snapshot, what_if: AddNodes, path: str) -> Snapshot | Violation:
    like = _node(snapshot, what_if.like, path)
    if isinstance(like, Violation):
        return like
    names = {node.node for node in snapshot.nodes}
    fresh = NodeState(
        pool=like.pool, node=like.node, cluster=like.cluster, shape=like.shape, since=snapshot.now
    )
    added: list[NodeState] = []
    number = 1
    while len(added) < what_if.count:
        name = f"{like.node}+{number}"
        number += 1
        if name not in names:
            added.append(fresh.model_copy(update={"node": name}))
    return replace(snapshot, nodes=(*snapshot.nodes, *added))


def _stop(snapshot: Snapshot, what_if: StopJob, path: str) -> Snapshot | Violation:
    found = _named(snapshot, what_if.job)
    if not found:
        return violation("E_WHAT_IF_JOB", path, pool=snapshot.pool)
    if len(found) > 1:
        listed = ", ".join(sorted(job for _, job in found)[:SHOWN])
        return violation("E_WHAT_IF_JOBS", path, pool=snapshot.pool, count=len(found), jobs=listed)
    return replace(snapshot, jobs=snapshot.book.without(found[0]))


def _named(snapshot: Snapshot, text: str) -> list[JobKey]:
    """Return the jobs of an id, else of a name. A long queue is not read for a name."""
    book = snapshot.book
    found = [key for key in book.holding if key[1] == text]
    found += [one.key for one in book.waiters() if one.key[1] == text and one.key not in found]
    if found:
        return found
    read = [*book.holding.values(), *(snapshot.queued if book.waiting <= MOST_READ else ())]
    return sorted({job.key for job in read if job.state.name == text})


def with_job(snapshot: Snapshot, state: JobState) -> Snapshot:
    """Return the snapshot with a queued job more, or with another state of one that is queued."""
    key = key_of(state)
    known = snapshot.book.find(key)
    book = snapshot.book.without(key) if known else snapshot.book
    view = snapshot.tenants.get(state.tenant)
    seq, stay = (known.seq, known.stay) if known else (snapshot.upto + 1, state.attempt)
    return replace(snapshot, jobs=book.plus(Listed(state, seq, stay), view))


def with_priority(state: JobState, priority: int) -> JobState | Violation:
    """Return a job as if it had another priority."""
    if state.demand.resource_class is ResourceClass.IDLE:
        return violation("E_IDLE_PRIORITY", "$.priority")
    demand = state.demand.model_copy(update={"priority": priority})
    return state.model_copy(update={"demand": demand})
