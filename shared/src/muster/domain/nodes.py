"""The state of a node and how it may change: as for jobs, on `pools.<pool>.nodes.<node>`.

A node's condition says whether new work may go there; what runs there, the jobs' `held` say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from muster.domain.edges import IllegalEdge, Owner
from muster.domain.model import Frozen, Instant, Token


class NodeCondition(StrEnum):
    """ready and not cordoned = may take new work."""

    READY = "ready"
    RECLAIMING = "reclaiming"
    LOST = "lost"
    FENCED = "fenced"
    GONE = "gone"


class TaintEffect(StrEnum):
    """What a taint does to work that does not tolerate it; names as in Kubernetes."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Frozen):
    """A mark that keeps work off a node unless it tolerates it."""

    key: str
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


class ForeignUse(Frozen):
    """What work that is not Muster's takes on a node: whole GPUs, CPU cores, MiB of memory."""

    gpus: int = 0
    cpus: float = 0
    memory_mib: int = 0
    extended: Mapping[str, int] = {}


class NodeShape(Frozen):
    """What a node offers: whole GPUs, CPU cores, MiB of memory, extended resources by name.

    serial: of the machine; it stays when a machine comes back under another name.
    """

    gpus: int
    gpu_model: str
    cpus: float
    memory_mib: int
    extended: Mapping[str, int] = {}
    spot: bool = False
    zone: str = "default"
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    serial: str | None = None


class NodeState(Frozen):
    """A node after one event. deadline: when a reclaimed node is taken away.

    since: when its condition began; for a fenced node, the instant that the proof speaks of.
    foreign: what others than Muster take there now, processes that still end included.
    lapsed: the deadline of the last notice, if it came to nothing.
    suspected: failures point at it; why, why_zh: which. proposed: an operator should close it.
    excluded_until: fault tolerance keeps new work off it, until then at least. exclusions: how
    often it did, since an operator last opened the node. excluded_at: when it last did; cleared_at:
    when an operator last opened it.
    """

    pool: Token
    node: str
    cluster: str
    shape: NodeShape
    condition: NodeCondition = NodeCondition.READY
    cordoned: bool = False
    draining: bool = False
    suspected: bool = False
    proposed: bool = False
    why: str = ""
    why_zh: str = ""
    excluded_until: Instant | None = None
    exclusions: int = 0
    excluded_at: Instant | None = None
    cleared_at: Instant | None = None
    foreign: ForeignUse | None = None
    deadline: Instant | None = None
    lapsed: Instant | None = None
    version: int = 1
    since: Instant
    requests: tuple[str, ...] = ()

    @property
    def schedulable(self) -> bool:
        """Whether new work may go here."""
        ready = self.condition is NodeCondition.READY
        return ready and not self.cordoned and self.excluded_until is None


class NodeFact(Frozen):
    """Base of facts about nodes. request: the id of the request it carries out, if any."""

    event: ClassVar[str]
    version: ClassVar[int] = 1
    request: str | None = None
    by: str | None = None


class NodeJoined(NodeFact):
    """The node is there (again), with this shape; foreign: what others take there already."""

    event: ClassVar[str] = "joined"
    pool: Token
    node: str
    cluster: str
    shape: NodeShape
    foreign: ForeignUse | None = None


class NodeChanged(NodeFact):
    """Another shape than before."""

    event: ClassVar[str] = "changed"
    shape: NodeShape


class NodeOccupied(NodeFact):
    """Work that is not Muster's takes this much of the node now; None = nothing any more."""

    event: ClassVar[str] = "occupied"
    foreign: ForeignUse | None = None


class NodeReclaiming(NodeFact):
    """The node will be taken away at the deadline."""

    event: ClassVar[str] = "reclaiming"
    deadline: Instant


class NodeReclaimLapsed(NodeFact):
    """The deadline of a notice, or of the last of several, is long over and the node is still
    there: new work is welcome again, as far as no operator has closed it."""

    event: ClassVar[str] = "reclaim_lapsed"
    deadline: Instant


class NodeLost(NodeFact):
    """The cluster no longer hears of the node."""

    event: ClassVar[str] = "lost"


class NodeLeft(NodeFact):
    """The node is no longer part of the cluster."""

    event: ClassVar[str] = "left"


class NodeFenced(NodeFact):
    """Proof that nothing runs there any more (powered off, deleted, or a person's word)."""

    event: ClassVar[str] = "fenced"


class NodeCordoned(NodeFact):
    """No new work."""

    event: ClassVar[str] = "cordoned"


class NodeUncordoned(NodeFact):
    """New work is welcome again; also ends a drain and a reclaim that did not happen."""

    event: ClassVar[str] = "uncordoned"


class NodeDrained(NodeFact):
    """No new work, and what runs there leaves."""

    event: ClassVar[str] = "drained"


class NodeSuspected(NodeFact):
    """Failures point at this node.

    proposed: an operator should look at it, and close it or put it on a block list.
    """

    event: ClassVar[str] = "suspected"
    why: str
    why_zh: str = ""
    proposed: bool = False


class NodeExcluded(NodeFact):
    """No new work until then, at least; what runs there stays. It ends by itself."""

    event: ClassVar[str] = "excluded"
    until: Instant
    why: str
    why_zh: str = ""


class NodeReadmitted(NodeFact):
    """The exclusion is over: new work is welcome again."""

    event: ClassVar[str] = "readmitted"


NODE_FACTS: dict[str, type[NodeFact]] = {fact.event: fact for fact in NodeFact.__subclasses__()}

_OPERATED = (Owner.ADMISSION, Owner.EXECUTOR)
NODE_OWNERS: dict[str, tuple[Owner, ...]] = {
    "joined": (Owner.EXECUTOR,),
    "changed": (Owner.EXECUTOR,),
    "occupied": (Owner.EXECUTOR,),
    "reclaiming": _OPERATED,
    "reclaim_lapsed": (Owner.EXECUTOR,),
    "lost": (Owner.EXECUTOR,),
    "left": (Owner.EXECUTOR,),
    "fenced": _OPERATED,
    "cordoned": (Owner.ADMISSION,),
    "uncordoned": (Owner.ADMISSION,),
    "drained": (Owner.ADMISSION,),
    "suspected": (Owner.FAULT_TOLERANCE,),
    "excluded": (Owner.FAULT_TOLERANCE,),
    "readmitted": (Owner.FAULT_TOLERANCE,),
}
"""event -> who may write it. Two owners where an operator may say what a cluster normally says."""


def evolve_node(
    state: NodeState | None, fact: NodeFact, at: datetime, owner: Owner | None = None
) -> NodeState:
    """Return the node's state after `fact`. Raises IllegalEdge."""
    if owner is not None and owner not in NODE_OWNERS[fact.event]:
        raise IllegalEdge(f"node event {fact.event} is not written by {owner}")
    if state is None:
        if not isinstance(fact, NodeJoined):
            raise IllegalEdge(f"{fact.event} cannot come before joined")
        return NodeState(
            pool=fact.pool,
            node=fact.node,
            cluster=fact.cluster,
            shape=fact.shape,
            foreign=fact.foreign,
            since=at,
        )
    changes = _NODE_EFFECTS[type(fact)](state, fact)
    changes["version"] = state.version + 1
    anew = isinstance(fact, NodeJoined | NodeFenced)
    if anew or changes.get("condition", state.condition) is not state.condition:
        changes["since"] = at
    match fact:
        case NodeExcluded():
            changes["excluded_at"] = at
        case NodeUncordoned():
            changes["cleared_at"] = at
    if fact.request:
        changes["requests"] = (*state.requests, fact.request)[-32:]
    return state.model_copy(update=changes)


def _condition(condition: NodeCondition) -> Callable[[NodeState, Any], dict[str, Any]]:
    return lambda state, fact: {"condition": condition}


def _reclaimed(state: NodeState) -> NodeCondition:
    """A notice about a node that is out already brings it not back, and undoes no proof."""
    out = {NodeCondition.LOST, NodeCondition.FENCED, NodeCondition.GONE}
    return state.condition if state.condition in out else NodeCondition.RECLAIMING


def _lost(state: NodeState) -> NodeCondition:
    """Of a fenced node nothing is heard, and the proof stands."""
    fenced = state.condition is NodeCondition.FENCED
    return NodeCondition.FENCED if fenced else NodeCondition.LOST


def _opened(state: NodeState, *shut: NodeCondition) -> dict[str, Any]:
    """A node that was shut in one of these ways is ready; of others only the notice ends."""
    condition = NodeCondition.READY if state.condition in shut else state.condition
    return {"deadline": None, "condition": condition}


_INNOCENT: dict[str, Any] = {
    "suspected": False,
    "proposed": False,
    "why": "",
    "why_zh": "",
    "excluded_until": None,
    "exclusions": 0,
}


def _history(state: NodeState, shape: NodeShape) -> dict[str, Any]:
    """Another machine under the name of an old one begins without what is held against that."""
    serials = {state.shape.serial, shape.serial}
    return _INNOCENT if None not in serials and len(serials) > 1 else {}


_NODE_EFFECTS: dict[type[NodeFact], Callable[[NodeState, Any], dict[str, Any]]] = {
    NodeJoined: lambda s, f: {
        **_history(s, f.shape),
        "shape": f.shape,
        "cluster": f.cluster,
        "foreign": f.foreign,
        "condition": NodeCondition.READY,
        "deadline": None,
    },
    NodeChanged: lambda s, f: {"shape": f.shape},
    NodeOccupied: lambda s, f: {"foreign": f.foreign},
    NodeReclaiming: lambda s, f: {
        "condition": _reclaimed(s),
        "deadline": f.deadline if s.deadline is None else min(s.deadline, f.deadline),
    },
    NodeReclaimLapsed: lambda s, f: {
        **_opened(s, NodeCondition.RECLAIMING),
        "lapsed": f.deadline,
    },
    NodeLost: lambda s, f: {"condition": _lost(s)},
    NodeLeft: _condition(NodeCondition.GONE),
    NodeFenced: _condition(NodeCondition.FENCED),
    NodeCordoned: lambda s, f: {"cordoned": True},
    NodeUncordoned: lambda s, f: {
        "cordoned": False,
        "draining": False,
        **_INNOCENT,
        **_opened(s, NodeCondition.RECLAIMING, NodeCondition.FENCED),
    },
    NodeDrained: lambda s, f: {"cordoned": True, "draining": True},
    NodeSuspected: lambda s, f: {
        "suspected": True,
        "proposed": s.proposed or f.proposed,
        "why": f.why,
        "why_zh": f.why_zh,
    },
    NodeExcluded: lambda s, f: {"excluded_until": f.until, "exclusions": s.exclusions + 1},
    NodeReadmitted: lambda s, f: {"excluded_until": None},
}
