"""Many jobs, one storage, registry, image or switch: one incident. Pure.

An incident opens when failures of several jobs of several users stand on the same thing within
minutes, and nobody's own mistake explains them. While it is open their retries wait and cost
nothing; it closes when nothing new has failed by it for a while.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.diagnosis import Blame
from muster.domain.incidents import (
    NODES,
    Incident,
    IncidentClosed,
    IncidentFact,
    IncidentKind,
    IncidentOpened,
    IncidentUpdated,
    incident_id,
)
from muster.fault_tolerance.core.attributed import Attributed, Mark, Shared


@dataclass(frozen=True, slots=True)
class IncidentLimits:
    """jobs, users: of so many within `within` it is one incident. quiet: then it is over.

    quiet is longer than any retry waits (`backoff.after_pause`): an incident must not seem to be
    over only because nobody tries.
    """

    jobs: int = 3
    users: int = 2
    within: timedelta = timedelta(minutes=5)
    quiet: timedelta = timedelta(minutes=20)


LIMITS = IncidentLimits()
EXPLAINS: dict[Blame, tuple[Shared, ...]] = {
    Blame.STORAGE: (Shared.STORAGE, Shared.PATH, Shared.RULE),
    Blame.NETWORK: (Shared.SWITCH, Shared.RULE),
    Blame.FRAMEWORK: (Shared.SWITCH,),
    Blame.HARDWARE: (Shared.SWITCH, Shared.RULE),
    Blame.PLATFORM: (Shared.REGISTRY, Shared.IMAGE, Shared.RULE),
}
"""What a failure with this blame may have in common with others. The first that does is named."""

_KINDS = {
    Shared.STORAGE: IncidentKind.STORAGE,
    Shared.PATH: IncidentKind.STORAGE,
    Shared.REGISTRY: IncidentKind.REGISTRY,
    Shared.IMAGE: IncidentKind.IMAGE,
    Shared.SWITCH: IncidentKind.SWITCH,
    Shared.RULE: IncidentKind.ALIKE,
}
_SURE = {Shared.PATH: 1, Shared.RULE: 2}
"""What only the output of jobs tells, the surer first: it must show on several nodes."""
NODES_ALIKE = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """What one thing has failed lately. of: (tenant, job). places: on so many nodes it showed."""

    mark: Mark
    of: frozenset[tuple[str, str]]
    places: int
    users: int
    first_at: datetime
    last_at: datetime
    rule: str | None
    nodes: tuple[str, ...]

    @property
    def jobs(self) -> int:
        """How many jobs."""
        return len(self.of)

    @property
    def id(self) -> str:
        """The id of its incidents."""
        return incident_id(_KINDS[self.mark.kind], self.mark.name)


def explaining(blame: Blame, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return what a failure with this blame may be owed to."""
    kinds = EXPLAINS.get(blame, ())
    return tuple(mark for mark in marks if mark.kind in kinds)


def explained_by(kind: Shared) -> tuple[Blame, ...]:
    """Return the blames of failures that an incident of this kind explains."""
    return tuple(blame for blame, kinds in EXPLAINS.items() if kind in kinds)


def open_for(blame: Blame, marks: Iterable[Mark], going_on: Iterable[Incident]) -> Incident | None:
    """Return the open incident that explains a failure, if one does."""
    named = {incident_id(_KINDS[mark.kind], mark.name) for mark in explaining(blame, marks)}
    return next((each for each in going_on if each.id in named and each.kind.pauses), None)


def gathered(
    failures: Iterable[Attributed], now: datetime, limits: IncidentLimits = LIMITS
) -> tuple[Seen, ...]:
    """Return what has failed jobs within the last minutes, thing by thing."""
    by_mark: dict[Mark, list[Attributed]] = defaultdict(list)
    for failure in failures:
        if now - failure.at < limits.within:
            for mark in explaining(failure.blame, failure.marks):
                by_mark[mark].append(failure)
    return tuple(_seen(mark, found) for mark, found in sorted(by_mark.items()))


def _seen(mark: Mark, failures: Sequence[Attributed]) -> Seen:
    rules = Counter(failure.rule for failure in failures if failure.rule)
    return Seen(
        mark=mark,
        of=frozenset((failure.tenant, failure.job) for failure in failures),
        places=len({m for f in failures for m in f.marks if m.kind is Shared.NODE}),
        users=len({(failure.tenant, failure.user) for failure in failures}),
        first_at=min(failure.at for failure in failures),
        last_at=max(failure.at for failure in failures),
        rule=rules.most_common(1)[0][0] if rules else None,
        nodes=tuple(sorted({node for failure in failures for node in failure.nodes}))[:NODES],
    )


def opened(seen: Sequence[Seen], limits: IncidentLimits = LIMITS) -> tuple[Seen, ...]:
    """Return what is an incident: a registry that fails is not also an image that does.

    Nor is what the output of jobs has in common another one, where what they declare explains most
    of them; nor a rule, where a path does.
    """
    reached = [each for each in seen if _is_reached(each, limits)]
    registries = {each.mark.name for each in reached if each.mark.kind is Shared.REGISTRY}
    return tuple(
        each
        for each in reached
        if not any(_explains(other, each) for other in reached)
        and not (
            each.mark.kind is Shared.IMAGE
            and any(_of_registry(each.mark.name, name) for name in registries)
        )
    )


def _explains(better: Seen, told: Seen) -> bool:
    if _SURE.get(better.mark.kind, 0) >= _SURE.get(told.mark.kind, 0):
        return False
    return 2 * len(better.of & told.of) > len(told.of)


def _is_reached(seen: Seen, limits: IncidentLimits) -> bool:
    enough = seen.jobs >= limits.jobs and seen.users >= limits.users
    return enough and (seen.mark.kind not in _SURE or seen.places >= NODES_ALIKE)


def _of_registry(image: str, registry: str) -> bool:
    return registry == "docker.io" or image.startswith(f"{registry}/")


def next_fact(
    known: Incident | None,
    now: datetime,
    seen: Seen | None,
    limits: IncidentLimits = LIMITS,
) -> IncidentFact | None:
    """Return what there is to say of an incident. seen: what fails by it now, if enough does."""
    if known is not None and known.open:
        return _going_on(known, seen, now, limits)
    if seen is None or (known is not None and _told(known, seen)):
        return None
    return IncidentOpened(incident=_of(seen, now, known.number + 1 if known else 1))


def _told(known: Incident, seen: Seen) -> bool:
    """Nothing has failed since it was closed: the same failures open nothing twice."""
    return known.closed_at is not None and seen.last_at <= known.closed_at


def _going_on(
    known: Incident, seen: Seen | None, now: datetime, limits: IncidentLimits
) -> IncidentFact | None:
    if not known.kind.pauses:
        return None
    if seen is not None and seen.last_at > known.last_at:
        update = {
            "last_at": seen.last_at,
            "jobs": max(known.jobs, seen.jobs),
            "users": max(known.users, seen.users),
            "nodes": tuple(sorted({*known.nodes, *seen.nodes}))[:NODES],
        }
        return IncidentUpdated(incident=known.model_copy(update=update))
    if now - known.last_at < limits.quiet:
        return None
    return IncidentClosed(incident=known.model_copy(update={"closed_at": now}))


def _of(seen: Seen, now: datetime, number: int) -> Incident:
    kind = _KINDS[seen.mark.kind]
    en, zh = _WORDS[kind]
    values = {"name": seen.mark.name, "jobs": seen.jobs, "users": seen.users}
    return Incident(
        id=seen.id,
        kind=kind,
        name=seen.mark.name,
        number=number,
        opened_at=now,
        last_at=seen.last_at,
        jobs=seen.jobs,
        users=seen.users,
        rule=seen.rule,
        nodes=seen.nodes,
        en=en.format(**values),
        zh=zh.format(**values),
    )


_WORDS: dict[IncidentKind, tuple[str, str]] = {
    IncidentKind.STORAGE: (
        "storage {name}: {jobs} jobs of {users} users failed by it; their retries wait",
        "存储 {name}：{users} 个用户的 {jobs} 个任务因此失败；其重试暂停",
    ),
    IncidentKind.REGISTRY: (
        "registry {name}: {jobs} jobs of {users} users could not pull from it; their retries wait",
        "镜像仓库 {name}：{users} 个用户的 {jobs} 个任务拉取失败；其重试暂停",
    ),
    IncidentKind.IMAGE: (
        "image {name}: {jobs} jobs of {users} users could not use it; their retries wait",
        "镜像 {name}：{users} 个用户的 {jobs} 个任务无法使用；其重试暂停",
    ),
    IncidentKind.SWITCH: (
        "switch {name}: {jobs} jobs of {users} users failed behind it; their retries wait",
        "交换机 {name}：其下 {users} 个用户的 {jobs} 个任务失败；其重试暂停",
    ),
    IncidentKind.ALIKE: (
        "{name}: {jobs} jobs of {users} users failed alike on several nodes; their retries wait",
        "{name}：{users} 个用户的 {jobs} 个任务在多个节点上以相同方式失败；其重试暂停",
    ),
}
