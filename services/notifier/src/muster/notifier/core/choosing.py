"""What goes out next to one address: one notice, a digest of many, or nothing yet. Pure.

Looks at everything that waits for the address. What happened to a job is told in its order: a
notice goes only when nothing older of its job waits, unless both are lines of one digest. What was
tried once keeps its company, so a repeat is the same message. Called for every message that is
sent, in production, in simulation and in the benchmarks.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from muster.notifier.core.limits import Budget, Limits, opens_at
from muster.notifier.core.notice import URGENT, Key, Kind, Language, Trigger, notice_id
from muster.notifier.core.silences import Matter, Silence, silenced


@dataclass(frozen=True, slots=True)
class Group:
    """Notices that may share a digest."""

    trigger: Trigger
    kind: Kind
    language: Language

    @property
    def name(self) -> str:
        """Return it as one word, for the lane's row."""
        return f"{self.trigger.value}|{self.kind.value}|{self.language}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row that is not settled. at, version: when it happened, and the order within its subject.

    due: not before; None = at once. again_at: not before, after an attempt. parcel: the message
    that it went out with, None before the first. set_aside: failed so often that others pass.
    """

    key: Key
    group: Group
    matter: Matter
    at: datetime
    version: int
    stored_at: datetime
    due: datetime | None = None
    again_at: datetime | None = None
    parcel: str | None = None
    set_aside: bool = False

    @property
    def subject(self) -> tuple[str, str]:
        """Return what it is about: tenant and subject."""
        return self.matter.tenant, self.matter.subject

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Return its place in the order of events; rows of one transition share it."""
        return self.at, self.version, self.key[2]

    @property
    def urgent(self) -> bool:
        """Tell whether somebody must act on it."""
        return self.group.trigger in URGENT


@dataclass(frozen=True, slots=True)
class Pace:
    """How notices are gathered. Durations are seconds; grouped=False sends each by itself.

    wait: from a group's first notice. interval: after a group's digest. digest_from subjects make
    a digest, of digest_most lines. backlog: minutes of the address's budget; when more waits,
    digests take everything. quiet: keep off the receiver's rush at full and half hours.
    """

    grouped: bool = True
    wait: float = 5.0
    interval: float = 60.0
    digest_from: int = 5
    digest_most: int = 100
    backlog: float = 10.0
    quiet: bool = True


AS_USUAL = Pace()
FULL = Budget()


@dataclass(frozen=True, slots=True)
class LaneState:
    """What is remembered of an address. backlog: rows that wait, loaded or not.

    probe_at: its circuit is open, and until then nothing is sent. digested: group -> last digest.
    """

    key: str
    limits: Limits | None = None
    budget: Budget = FULL
    paused_until: datetime | None = None
    probe_at: datetime | None = None
    digested: Mapping[str, datetime] = field(default_factory=dict)
    backlog: int = 0


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message: rows in the order of events. probe: it tries an address that refused all."""

    id: str
    rows: tuple[Waiting, ...]
    probe: bool = False

    @property
    def urgent(self) -> bool:
        """Tell whether somebody must act on any of it."""
        return any(row.urgent for row in self.rows)

    @property
    def digest(self) -> str:
        """Return the name of the digest that it is; "" if it tells of one transition only."""
        if len({(row.subject, row.order) for row in self.rows}) == 1:
            return ""
        groups = {row.group.name for row in self.rows}
        return groups.pop() if len(groups) == 1 else MIXED


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may go before then; None: nothing waits for a time."""

    until: datetime | None = None


MIXED = "mixed"
"""The name of a digest that takes every trigger."""
_RUSH, _SPREAD = 20.0, 70.0
_HALF_HOUR = 1800.0


def choose(waiting: Sequence[Waiting], lane: LaneState, now: datetime, pace: Pace) -> Parcel | Wait:
    """Return what goes out next, or until when nothing does."""
    opens = may_go_from(lane, now)
    if opens > now:
        return Wait(opens)
    visible = [row for row in waiting if row.due is None or row.due <= now]
    queues = _queues(visible)
    found = _again(queues, now, set_aside=False) or _fresh(queues, lane, now, pace)
    if not isinstance(found, Parcel):
        found = _again(queues, now, set_aside=True) or found or Wait(_next(waiting, now))
    if isinstance(found, Parcel):
        return replace(found, probe=lane.probe_at is not None)
    return found


def unsent(
    waiting: Iterable[Waiting], silences: Iterable[Silence], now: datetime
) -> Iterator[tuple[Key, str]]:
    """Yield (key, state) of what need not be sent: `silenced`, or `inhibited`.

    A job that waits for a person makes the news of its earlier queueing pointless.
    """
    rows = [row for row in waiting if row.parcel is None]
    parked = {row.subject: row.order for row in rows if row.group.trigger is Trigger.JOB_ABNORMAL}
    spoken = tuple(silences)
    for row in rows:
        if silenced(row.matter, spoken, now):
            yield row.key, "silenced"
        elif row.group.trigger is Trigger.JOB_QUEUED and row.order < parked.get(
            row.subject, row.order
        ):
            yield row.key, "inhibited"


def may_go_from(lane: LaneState, now: datetime) -> datetime:
    """Return from when the address may be written to at all; now at the earliest."""
    times = (lane.paused_until, lane.probe_at, opens_at(lane.budget, lane.limits, now))
    return max(time for time in times if time is not None)


_Queue = list[Waiting]
_Queues = dict[tuple[str, str], _Queue]


def _queues(rows: Iterable[Waiting]) -> _Queues:
    """Return what waits of each subject, in the order of events."""
    queues: _Queues = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.order, row.key)):
        queues[row.subject].append(row)
    return queues


def _front(queue: _Queue) -> _Queue:
    """Return the rows of the oldest transition: what may go without overtaking."""
    return [row for row in queue if row.order == queue[0].order]


def _again(queues: _Queues, now: datetime, *, set_aside: bool) -> Parcel | None:
    """Return the oldest message that was tried before and is due again."""
    tried: dict[str, _Queue] = defaultdict(list)
    for queue in queues.values():
        for row in queue:
            if row.parcel is not None and row.set_aside is set_aside:
                tried[row.parcel].append(row)
    due = [
        (rows[0].order, name)
        for name, rows in tried.items()
        if all(row.again_at is None or row.again_at <= now for row in rows)
    ]
    if not due:
        return None
    _, name = min(due)
    return _parcel(tried[name], name)


def _fresh(queues: _Queues, lane: LaneState, now: datetime, pace: Pace) -> Parcel | Wait | None:
    """Return what goes out for the first time; None if nothing waits for that."""
    free = [queue for queue in queues.values() if queue[0].parcel is None]
    if not free:
        return None
    if lane.probe_at is not None:
        return _single(min(free, key=lambda queue: queue[0].order))
    flooded = lane.limits is not None and lane.backlog > pace.backlog * lane.limits.a_minute
    if pace.grouped and flooded:
        return _mixed(free, pace)
    groups = _groups(free)
    times = {group: _ready_at(group, rows, lane, pace) for group, rows in groups.items()}
    if pace.quiet:
        times = {g: at if g.trigger in URGENT else _calm(lane, at, now) for g, at in times.items()}
    ready = [group for group, at in times.items() if at <= now]
    if not ready:
        return Wait(min(times.values()))
    first = min(ready, key=lambda group: (group.trigger not in URGENT, groups[group][0].order))
    return _of(groups[first], first, pace)


def _groups(free: Iterable[_Queue]) -> dict[Group, _Queue]:
    """Return what may go of each group, the oldest first."""
    groups: dict[Group, _Queue] = defaultdict(list)
    for queue in free:
        for row in _front(queue):
            if row.parcel is None:
                groups[row.group].append(row)
    return {group: sorted(rows, key=lambda row: row.order) for group, rows in groups.items()}


def _ready_at(group: Group, rows: _Queue, lane: LaneState, pace: Pace) -> datetime:
    began = min(row.stored_at for row in rows)
    if not pace.grouped:
        return began
    ready = began + timedelta(seconds=pace.wait)
    last = lane.digested.get(group.name)
    if last is None or len(rows) >= pace.digest_most:
        return ready
    return max(ready, last + timedelta(seconds=pace.interval))


def _of(rows: _Queue, group: Group, pace: Pace) -> Parcel:
    """Return the group's digest if it is about enough subjects, its oldest notice otherwise."""
    subjects = {row.subject for row in rows}
    if not pace.grouped or len(subjects) < pace.digest_from:
        return _single([row for row in rows if row.subject == rows[0].subject])
    return _parcel(_lines(rows, pace.digest_most))


def _single(queue: _Queue) -> Parcel:
    """Return the oldest transition, told once whichever rules ask for it in this language."""
    front = [row for row in _front(queue) if row.parcel is None]
    return _parcel([row for row in front if row.group == front[0].group])


def _mixed(free: Iterable[_Queue], pace: Pace) -> Parcel:
    """Return a digest of whatever waits longest, what somebody must act on first."""
    chains = sorted(map(_chain, free), key=lambda rows: (not _any_urgent(rows), rows[0].order))
    language = chains[0][0].group.language
    told = [row for rows in chains if rows[0].group.language == language for row in rows]
    return _parcel(_lines(told, pace.digest_most))


def _lines(rows: _Queue, most: int) -> _Queue:
    """Return the first rows that make at most so many lines; a line tells one transition."""
    lines: dict[tuple[tuple[str, str], tuple[datetime, int, str]], _Queue] = defaultdict(list)
    for row in rows:
        lines[(row.subject, row.order)].append(row)
    return [row for line in list(lines.values())[:most] for row in line]


def _chain(queue: _Queue) -> _Queue:
    """Return the rows from the front on that one digest can tell: one language, none tried yet."""
    language = queue[0].group.language
    chain: _Queue = []
    for row in queue:
        if row.parcel is not None or row.group.language != language:
            break
        chain.append(row)
    return chain


def _any_urgent(rows: _Queue) -> bool:
    return any(row.urgent for row in rows)


def _parcel(rows: Iterable[Waiting], name: str = "") -> Parcel:
    told = tuple(sorted(rows, key=lambda row: (row.order, row.key)))
    return Parcel(name or notice_id(*(row.key for row in told)), told)


def _calm(lane: LaneState, ready: datetime, now: datetime) -> datetime:
    """Return when what is ready then may go; what became so in a rush keeps its own distance."""
    return max(_after_rush(lane, ready), _after_rush(lane, now))


def _after_rush(lane: LaneState, now: datetime) -> datetime:
    """Return now, or a while after the full or half hour that is near: not the same for all."""
    passed = (now.astimezone(UTC).timestamp() + _RUSH) % _HALF_HOUR
    if passed > 2 * _RUSH:
        return now
    spread = hashlib.sha256(lane.key.encode()).digest()[0] / 255 * _SPREAD
    return now + timedelta(seconds=2 * _RUSH - passed + spread)


def _next(waiting: Iterable[Waiting], now: datetime) -> datetime | None:
    times = (time for row in waiting for time in (row.due, row.again_at) if time and time > now)
    return min(times, default=None)
