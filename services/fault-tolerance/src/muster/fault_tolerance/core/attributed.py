"""What is kept of a failure once it is judged, and the places that it may share with others.

Pure values. `store` keeps them; `suspicion`, `brakes` and `incidents` count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.domain.diagnosis import Action, Blame, Diagnosis, Kind, Source
from muster.domain.nodes import NodeShape
from muster.domain.spec import JobSpec
from muster.fault_tolerance.core.failure import Failure

SWITCH = "muster.io/switch"
"""The label of a node that names the switch it hangs on."""


class Shared(StrEnum):
    """What jobs on different nodes may have in common.

    path: that the line of the failure names, though no job declares it. rule: of the line. node:
    where the failure showed; what shows on one node alone is that node's.
    """

    STORAGE = "storage"
    PATH = "path"
    REGISTRY = "registry"
    IMAGE = "image"
    SWITCH = "switch"
    ZONE = "zone"
    RULE = "rule"
    NODE = "node"


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
        machines=tuple(Machine(node, serials.get(node)) for node in _held_against(diagnosis)),
        marks=tuple(sorted({*marks, *_told(diagnosis)})),
        hard=is_hard(diagnosis),
        gpu_hours=diagnosis.gpu_hours,
        excerpt=_excerpt(failure, diagnosis) if diagnosis.rule is None else "",
    )


def _held_against(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the nodes that it is attributed to, by what is known.

    What nothing explains is left to a node only because others failed there: it is no word more
    against it, or suspicion would feed on itself.
    """
    suspected = any(line.rule in _SUSPECTED for line in diagnosis.evidence)
    return () if diagnosis.rule is None or suspected else diagnosis.nodes


def exonerates(diagnosis: Diagnosis) -> bool:
    """Tell whether the same failure came on so many nodes that it was none's of them."""
    return any(line.rule in _WANDERED for line in diagnosis.evidence)


_SUSPECTED = frozenset({"history.other_jobs"})
_WANDERED = frozenset({"history.wanders", "history.disjoint"})


def _told(diagnosis: Diagnosis) -> Iterator[Mark]:
    """Yield what a line of output, by nobody's own mistake, tells that it may share with others.

    Not what a machine reports of itself: that many have the same fault is no cause in common.
    """
    if diagnosis.node is not None:
        yield Mark(Shared.NODE, diagnosis.node)
    seen = [line for line in diagnosis.evidence if line.rule == diagnosis.rule]
    if not seen or seen[0].source is not Source.LOG or not diagnosis.blame.infrastructure:
        return
    paths = (found for line in seen if (found := shared_path(line.text)))
    path = next(paths, None) if diagnosis.blame is Blame.STORAGE else None
    if path is not None:
        yield Mark(Shared.PATH, path)
    passes = diagnosis.action in _PASSES and diagnosis.kind is not Kind.DETERMINISTIC
    if passes and not is_hard(diagnosis):
        yield Mark(Shared.RULE, str(diagnosis.rule))


_PASSES = frozenset({Action.RETRY, Action.IN_PLACE, Action.EXCLUDE, Action.CORDON})


def shared_path(line: str) -> str | None:
    """Return the beginning of the path that a line names, as deep as file systems are mounted.

    None where it names none but of a node's or a container's own disks.
    """
    return next((path for path in _PATH.findall(line) if not _LOCAL.match(path)), None)


_PATH = re.compile(r"(?<![\w./<-])(/[\w.@%+=-]{1,64}(?:/[\w.@%+=-]{1,64})?)")
_LOCAL = re.compile(
    r"/(?:tmp|var|dev|proc|sys|run|etc|usr|opt|lib|app|workspace|local|scratch|mnt/(?:local|nvme))\b"
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
