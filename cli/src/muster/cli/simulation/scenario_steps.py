"""The steps of a scenario: what people, machines, services and the network may do in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from muster.domain.model import Strict


class Base(Strict):
    """at: second of the story. label, where there is one: names the request for `answers`."""

    at: float = 0.0

    def jobs_named(self) -> tuple[str, ...]:
        """Return the jobs that the step speaks of."""
        job = getattr(self, "job", None)
        return (job,) if isinstance(job, str) else ()

    def nodes_named(self) -> tuple[str, ...]:
        """Return the nodes that the step speaks of."""
        node = getattr(self, "node", None)
        return (node,) if isinstance(node, str) else ()


class Submit(Base):
    """Submit a job of `given`; change: fields of its specification that differ.

    The request is labelled `submit-<job>`; the same again is the same request.
    """

    do: Literal["submit"]
    job: str
    change: Mapping[str, Any] = {}


class AskJob(Base):
    """A person's request about a job. with: the fields of the request."""

    do: Literal["stop", "resume", "respecify", "prioritise", "relabel"]
    job: str
    fields: Mapping[str, Any] = Field({}, alias="with")
    label: str | None = None


class AskNode(Base):
    """An operator's or a cloud's request about a node. notice: of a reclaim, seconds."""

    do: Literal["reclaim", "cordon", "uncordon", "drain", "fence"]
    node: str
    notice: int = 30
    label: str | None = None


class SetShare(Base):
    """An operator sets a tenant's share of a GPU model. ceiling null: no limit."""

    do: Literal["share"]
    tenant: str
    gpu_model: str = "H100"
    guaranteed: int = 0
    ceiling: int | None = None
    label: str | None = None


class Block(Base):
    """An operator keeps a tenant, or one of its users, off nodes, or lets them use these again."""

    do: Literal["block", "unblock"]
    tenant: str
    user: str | None = None
    nodes: tuple[str, ...]
    label: str | None = None

    def nodes_named(self) -> tuple[str, ...]:
        """See Base."""
        return self.nodes


class SetStock(Base):
    """What a provider says of spot capacity. gpus null: not offered. notice: seconds."""

    do: Literal["stock"]
    gpus: int | None
    gpu_model: str = "H100"
    zone: str = "default"
    notice: int = 30
    label: str | None = None


class SetSpot(Base):
    """An operator says whether a tenant may use spot capacity."""

    do: Literal["spot"]
    tenant: str
    enabled: bool
    label: str | None = None


class Machine(Base):
    """A machine itself. announce: the cluster shows that it will be taken back in `notice` s.

    taken: gone for good, and everybody knows. cut_off: nobody hears of it, its workers run on.
    off: somebody made sure that nothing runs there. back, join: it is there (again).
    resize: it has `gpus` from now on.
    """

    do: Literal["announce", "taken", "cut_off", "off", "back", "join", "resize"]
    node: str
    notice: float = 120.0
    gpus: int = 8


class Foreign(Base):
    """From now on others take so much of a node; all 0 = nothing any more.

    Where its processes have no room the step does nothing, as on a real machine.
    """

    do: Literal["foreign"]
    node: str
    gpus: int = 0
    cpus: float = 0.0
    memory_mib: int = 0


class Leftover(Base):
    """A process that looks like a worker of ours runs on a node, and nothing ends it.

    of: the job whose name it has; none = one that the log has never heard of.
    """

    do: Literal["leftover"]
    node: str
    gpus: int = 8
    of: str | None = None


class Cleared(Base):
    """The leftovers on a node end."""

    do: Literal["clear_leftovers"]
    node: str


class Says(Base):
    """The kernel of a machine, or the cluster, says something about it."""

    do: Literal["says"]
    node: str
    text: str
    scope: Literal["kernel", "node", "event"] = "kernel"


class Exit(Base):
    """A worker process ends; code null: it vanishes. worker "all": every one of the job."""

    do: Literal["exit"]
    job: str
    worker: str = "worker-0"
    code: int | None = 0


class Outage(Base):
    """A replica or a service dies, or stands still, for so many seconds.

    service "all": every one. pause: a machine that freezes, and goes on with what it knew.
    pause_in_work: it freezes the next time that it has a message in hand and is about to write.
    """

    do: Literal["crash", "pause", "pause_in_work"]
    service: str
    seconds: float = 5.0


class NewLeader(Base):
    """The leading scheduler freezes for so many seconds; the second one takes over meanwhile."""

    do: Literal["new_leader"]
    seconds: float = 60.0


class Away(Base):
    """Something does not answer for so many seconds: cluster, log (writes), database, timers."""

    do: Literal["away"]
    what: Literal["cluster", "log", "database", "timers"]
    seconds: float


class Again(Base):
    """An event that stands in the log is delivered once more, to everybody who listens.

    event: its name, the last of that name; none = the last event of the job.
    """

    do: Literal["double", "replay"]
    job: str
    event: str | None = None


class Alarms(Base):
    """lose: no alarm that is armed now will ring. ring_early: they all ring now, and again.

    ring_old: every alarm that was ever armed rings now, whatever became of it.
    """

    do: Literal["lose_alarms", "ring_early", "ring_old"]


class Lost(Base):
    """The events and alarms that are on their way to consumers are lost; the log stays."""

    do: Literal["lose_messages"]


class Clock(Base):
    """A wall clock steps: of one service, or of the server when none is named."""

    do: Literal["clock"]
    seconds: float
    service: str | None = None


class Publish(Base):
    """A foreign or malformed message. job: it stands on this job's subject, under `event`."""

    do: Literal["publish"]
    body: str
    job: str | None = None
    event: str = "scribbled"
    verb: str = "submit"


Step: TypeAlias = Annotated[
    Submit
    | AskJob
    | AskNode
    | SetShare
    | Block
    | SetStock
    | SetSpot
    | Machine
    | Foreign
    | Leftover
    | Cleared
    | Says
    | Exit
    | Outage
    | NewLeader
    | Away
    | Again
    | Alarms
    | Lost
    | Clock
    | Publish,
    Field(discriminator="do"),
]
