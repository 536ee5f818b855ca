"""Room that is kept for the first in line of those that wait too long for want of room.

`find` looks for the first instant at which the gang will fit, and for its nodes then, by going
through the ends of those who are there. While the room is kept (`Reservation`), it stands on the
board like a placement that waits for victims: who stands behind the gang may have what is left
beside it, and inside it only if it is gone again before the gang can come.

The proof. Let T be the instant found, by limits alone. At T the gang fits on its nodes S beside
everybody who may be there longer: that is what was found. Whoever is placed after it either leaves
S as large at T, or is gone by T. So in the next round the gang still fits by T, and the instant
found then is no later. It rests on limits that are kept, nodes that stay, and nobody coming who
stands before the gang.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.demand import ResourceClass, Role
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD, Need, of_role
from muster.scheduler.core.board import Taken
from muster.scheduler.core.doors import has_model
from muster.scheduler.core.endings import Basis, Ending, limit_if_placed
from muster.scheduler.core.placement import Placed, Shortfall
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import entered
from muster.scheduler.core.rooms import Kind
from muster.scheduler.core.snapshot import JobKey, key_of

Fits = Callable[[frozenset[JobKey]], Placed | Shortfall]
"""Place the gang as if these jobs were gone."""

Has = Callable[[JobKey], Mapping[str, Taken]]
"""What a job has on each of the nodes on which the gang has any use for room."""

Triple = tuple[int, int, int]
"""Thousandths of cards, thousandths of cores, MiB."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """Where the gang will fit once `waits` are gone: by `at`, hardly before `soon`."""

    placement: Placed
    waits: frozenset[JobKey]
    at: datetime
    soon: datetime
    basis: Basis


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room that is kept. since: from when on the gang has had a right to it.

    alone: others are being sent off for it, and nobody may use it meanwhile.
    """

    job: JobKey
    since: datetime
    shadow: Shadow
    alone: bool = False

    @property
    def until(self) -> datetime | None:
        """Return when the gang starts at the latest, None if nobody knows."""
        return None if self.shadow.basis is Basis.UNKNOWN else self.shadow.at

    def spares(self, state: JobState, now: datetime) -> bool:
        """Tell whether a job behind the gang may use the room meanwhile.

        An idle job may, it leaves as soon as its room is needed; and who is certainly gone in time.
        """
        if self.alone:
            return False
        if state.demand.resource_class is ResourceClass.IDLE:
            return True
        gone = limit_if_placed(state, now)
        proven = self.shadow.basis is Basis.LIMITS
        return gone is not None and gone <= (self.shadow.at if proven else self.shadow.soon)


@dataclass(frozen=True, slots=True)
class Spell:
    """One of the spells in which room is kept for a job, or the pause after it.

    begin, end: of the spell; change: when it, or its pause, is over.
    """

    first: datetime
    begin: datetime
    end: datetime
    change: datetime

    def keeps(self, now: datetime) -> bool:
        """Tell whether it is not the pause."""
        return now < self.end


def spell(state: JobState, policy: Policy, now: datetime) -> Spell | None:
    """Return how things stand with a waiting job, None if it has not waited long enough."""
    first = due_at(state, policy)
    if now < first or not policy.reserve_max_s:
        return None
    begin, end = spell_at(first, policy.reserve_max_s, now)
    pauses = end + timedelta(seconds=policy.reserve_max_s)
    return Spell(first, begin, end, end if now < end else pauses)


def spell_at(first: datetime, shortest_s: float, now: datetime) -> tuple[datetime, datetime]:
    """Return begin and end of the spell in which `now` is, or after which there is a pause.

    Each is twice as long as the one before; the pauses are all as long as the first spell.
    """
    begin, length = first, timedelta(seconds=shortest_s)
    pause = length
    while now >= begin + length + pause:
        begin, length = begin + length + pause, length * 2
    return begin, begin + length


def due_at(state: JobState, policy: Policy) -> datetime:
    """Return from when on a job has waited long enough for room to be kept for it."""
    return entered(state) + timedelta(seconds=policy.reserve_after_s)


def may_reserve(state: JobState) -> bool:
    """Tell whether room is ever kept for a job: not for one that lives on what is left over."""
    return state.demand.resource_class is not ResourceClass.IDLE and not state.one_shot


def reservation(
    state: JobState, now: datetime, spelled: Spell, found: Shadow
) -> Reservation | None:
    """Keep room for a job, or not now: see the decision record on reservations."""
    if found.basis is Basis.LIMITS or spelled.keeps(now):
        return Reservation(key_of(state), spelled.first, found)
    return None


def find(
    roles: Sequence[Role],
    endings: Sequence[Ending],
    free: Mapping[str, Kind],
    has: Has,
    fits: Fits,
) -> Shadow | None:
    """Return where and when a gang fits for the first time, None if it never does.

    free: the nodes on which the gang has any use for room, as they are now.
    """
    order = sorted(endings, key=lambda one: (one.at, one.key))
    first = _no_sooner(roles, order, free, has)
    found = _first_fit(order, first, fits) if first is not None else None
    if found is None:
        return None
    count, placement = found
    used = set(placement)
    waits = [one for one in order[:count] if not used.isdisjoint(has(one.key))]
    if not waits:
        return None
    return Shadow(
        placement=placement,
        waits=_keys(waits),
        at=max(one.at for one in waits),
        soon=max(one.soon for one in waits),
        basis=max(one.basis for one in waits),
    )


def _keys(endings: Sequence[Ending]) -> frozenset[JobKey]:
    return frozenset(one.key for one in endings)


def _first_fit(order: Sequence[Ending], low: int, fits: Fits) -> tuple[int, Placed] | None:
    """Return how many must have ended, and the placement: at least `low`, mostly just so many."""
    high, step = low, 1
    while isinstance(found := fits(_keys(order[:high])), Shortfall):
        if high >= len(order):
            return None
        low, high, step = high + 1, min(high + step, len(order)), step * 2
    while low < high:
        middle = (low + high) // 2
        other = fits(_keys(order[:middle]))
        if isinstance(other, Shortfall):
            low = middle + 1
        else:
            high, found = middle, other
    return high, found


def _no_sooner(
    roles: Sequence[Role], order: Sequence[Ending], free: Mapping[str, Kind], has: Has
) -> int | None:
    """Return how many must have ended at the least: so many that there is room for each role alone.

    For a gang of equal workers that is mostly exact.
    """
    least = 0
    for role in roles:
        found = _no_sooner_for(role, order, free, has) if role.replicas else 0
        if found is None:
            return None
        least = max(least, found)
    return least


def _no_sooner_for(
    role: Role, order: Sequence[Ending], free: Mapping[str, Kind], has: Has
) -> int | None:
    need = of_role(role)
    wants = (_cards(need), need.cpus, need.memory)
    if not any(wants):
        return 0
    room: dict[str, Triple] = {
        node: (kind.free.milli, kind.free.cpus, kind.free.memory)
        for node, kind in free.items()
        if has_model(kind.gpu_model, role)
    }
    fitting = sum(_times(left, wants) for left in room.values())
    for count, one in enumerate(order):
        if fitting >= role.replicas:
            return count
        for node, (amounts, slots) in has(one.key).items():
            before = room.get(node)
            if before is None:
                continue
            milli = amounts.gpus * CARD + sum(slots.values())
            after = before[0] + milli, before[1] + amounts.cpus, before[2] + amounts.memory
            room[node] = after
            fitting += _times(after, wants) - _times(before, wants)
    return len(order) if fitting >= role.replicas else None


def _times(left: Triple, wants: Triple) -> int:
    return max(0, min(have // want for have, want in zip(left, wants, strict=True) if want))


def _cards(need: Need) -> int:
    """Return thousandths of cards."""
    return need.gpus * CARD + need.milli
