"""What is kept of a failure once it is judged, and the places that it may share with others.

Pure values. `store` keeps them; `suspicion`, `brakes` and `incidents` count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.domain.diagnosis import Action, Blame, Diagnosis, Source
from muster.domain.nodes import NodeShape
from muster.domain.spec import JobSpec
from muster.fault_tolerance.core.failure import Failure

SWITCH = "muster.io/switch"
"""The label of a node that names the switch it hangs on."""


class Shared(StrEnum):
    """What jobs on different nodes may have in common."""

    STORAGE = "storage"
    REGISTRY = "registry"
    IMAGE = "image"
    SWITCH = "switch"
    ZONE = "zone"


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """One thing that a job stands on: this storage, this registry, this switch."""

    kind: Shared
    name: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A node that a failure is attributed to. serial: what stays when it comes back renamed."""

    node: str
    serial: str | None = None

    def identity(self, pool: str) -> str:
        """Return what its history is kept under: a machine, whatever it is called just now."""
        return f"serial:{self.serial}" if self.serial else f"name:{pool}/{self.node}"


@dataclass(frozen=True, slots=True)
class Attributed:
    """One judged failure. machines: to blame for it, if any. hard: the hardware itself said so.

    marks: what the attempt stood on. excerpt: the end of the output, of an unknown failure only.
    """

    tenant: str
    job: str
    attempt: int
    user: str
    pool: str
    at: datetime
    rule: str | None = None
    blame: Blame = Blame.UNKNOWN
    fingerprint: str = ""
    stage: str = ""
    nodes: tuple[str, ...] = ()
    machines: tuple[Machine, ...] = ()
    marks: tuple[Mark, ...] = ()
    hard: bool = False
    gpu_hours: float = 0.0
    excerpt: str = ""


EXCERPT = 4096
"""Characters of the end of an unknown failure's output that are kept for people."""


def attributed(
    failure: Failure, diagnosis: Diagnosis, pool: str, marks: Iterable[Mark] = ()
) -> Attributed:
    """Return what is kept of a failure and of what it was held to be."""
    serials = {seen.node: seen.serial for seen in failure.nodes}
    return Attributed(
        tenant=failure.tenant,
        job=failure.job,
        attempt=failure.attempt,
        user=failure.user,
        pool=pool,
        at=failure.at,
        rule=diagnosis.rule,
        blame=diagnosis.blame,
        fingerprint=diagnosis.fingerprint,
        stage=diagnosis.stage.value,
        nodes=tuple(sorted({w.node for w in failure.workers})),
        machines=tuple(Machine(node, serials.get(node)) for node in diagnosis.nodes),
        marks=tuple(sorted(set(marks))),
        hard=is_hard(diagnosis),
        gpu_hours=diagnosis.gpu_hours,
        excerpt=_excerpt(failure, diagnosis) if diagnosis.rule is None else "",
    )


def is_hard(diagnosis: Diagnosis) -> bool:
    """Tell whether one failure is enough to suspect a node: the machine itself reported it.

    A GPU that fell off the bus or an error that memory could not correct is no matter of counting;
    what only the output of a job says is.
    """
    reported = any(line.source in {Source.KERNEL, Source.NODE} for line in diagnosis.evidence)
    grave = diagnosis.action in {Action.CORDON, Action.EXCLUDE}
    return diagnosis.blame is Blame.HARDWARE and grave and reported and bool(diagnosis.nodes)


def marks_of(spec: JobSpec, shapes: Mapping[str, NodeShape]) -> tuple[Mark, ...]:
    """Return what a job stands on. shapes: of the nodes that it was placed on."""
    volumes = {volume.volume for volume in spec.storage}
    if spec.ray is not None and spec.ray.shared_storage is not None:
        volumes.add(spec.ray.shared_storage.volume)
    switches = {shape.labels[SWITCH] for shape in shapes.values() if SWITCH in shape.labels}
    zones = {shape.zone for shape in shapes.values()}
    marks = [
        *(Mark(Shared.STORAGE, name) for name in volumes),
        Mark(Shared.REGISTRY, registry_of(spec.image)),
        Mark(Shared.IMAGE, spec.image),
        *(Mark(Shared.SWITCH, name) for name in switches),
        *(Mark(Shared.ZONE, name) for name in zones),
    ]
    return tuple(sorted(set(marks)))


def registry_of(image: str) -> str:
    """Return the host that an image is pulled from, as container runtimes read its name."""
    first, slash, _ = image.partition("/")
    named = slash and (any(sign in first for sign in ".:") or first == "localhost")
    return first if named else "docker.io"


def _excerpt(failure: Failure, diagnosis: Diagnosis) -> str:
    tails = {worker.worker: worker.tail for worker in failure.workers if worker.tail}
    tail = tails.get(diagnosis.first or "") or next(iter(tails.values()), "")
    return tail[-EXCERPT:]
