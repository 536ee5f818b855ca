"""The placement core: a node for every worker of a gang, or how many of which role fell short.

All or nothing. Used for free room, for room after an eviction, for an empty pool, for the view of
fragments and in the benchmark alike. Does not know why a node is there or not: it is given the
nodes that a job may use, and how the job wants them chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from itertools import groupby
from typing import NamedTuple

from muster.domain.demand import Demand, LocalityMode, Role
from muster.scheduler.core.amounts import CARD, ENDLESS, Need, of_role
from muster.scheduler.core.doors import has_model
from muster.scheduler.core.rooms import Domain, Kind, Levels, Rooms, Sites, View
from muster.scheduler.core.scoring import Market, Taste, taste
from muster.scheduler.core.seats import Part, Search, too_little

UNCHANGED: Mapping[str, Kind] = {}

NODE = "node"
"""The finest level: all workers on one node."""


class Shared(NamedTuple):
    """A worker on a card that it shares. left: thousandths of the card before it comes."""

    worker: str
    milli: int
    left: int


Shares = Mapping[str, Sequence[Shared]]
"""node -> the workers that share cards there, in the order in which they come."""


class Placed(dict[str, tuple[str, ...]]):
    """node -> workers, with the cards that some of them share."""

    __slots__ = ("shares",)

    def __init__(self, workers: Iterable[tuple[str, tuple[str, ...]]] = ()) -> None:
        super().__init__(workers)
        self.shares: Shares = {}


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Of `need` workers of a role only `fits` have a node.

    level, domain: they would have one each, but not in one domain of this level; `fits` is what
    the best domain holds. sure: it is certain that there is no room for the whole gang; else it
    was not found.
    """

    role: Role
    fits: int
    need: int
    level: str | None = None
    domain: str | None = None
    sure: bool = True


@dataclass(frozen=True, slots=True)
class How:
    """How nodes are chosen. together: the kinds of domain in which the gang is kept if one holds
    it, in the order in which they are tried. required: the last of them must do. limits: GPU model
    -> thousandths of GPUs of it that a gang may have; of the others as many as there are."""

    taste: Taste
    together: tuple[Levels, ...] = ()
    required: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)


PLAIN = How(taste("first_fit", Market()))


def how_for(demand: Demand, tasted: Taste, levels: Levels) -> How:
    """Return how nodes are chosen for a job in a pool with these levels, coarse to fine."""
    chains = [levels[:depth] for depth in range(len(levels), 0, -1)]
    locality = demand.locality
    if locality is None:
        return How(tasted, tuple(chains))
    required = locality.mode is LocalityMode.REQUIRED
    level = locality.level
    if level == NODE:
        chains = [] if required else chains
    elif level not in levels:
        chains = [(level,)] if required else [(level,), *chains]
    elif required:
        chains = [chain for chain in chains if level in chain]
    return How(tasted, tuple(chains), level if required else None)


def chain_to(level: str, levels: Levels) -> Levels | None:
    """Return the levels down to one, None for the node."""
    if level == NODE:
        return None
    return levels[: levels.index(level) + 1] if level in levels else (level,)


def place(
    roles: Sequence[Role], sites: Sites, moved: Mapping[str, Kind] = UNCHANGED, how: How = PLAIN
) -> Placed | Shortfall:
    """Place every worker of every role. Does not depend on the order of roles or sites.

    moved: nodes with another room than the sites say.
    """
    if sites.first is not None:
        found = _place(roles, sites.first, moved, how)
        if not isinstance(found, Shortfall):
            return found
    return _place(roles, sites.every, moved, how)


def domain_in(rooms: Rooms, how: How) -> Callable[[str], Hashable] | None:
    """Return how to tell the domains apart of which one must hold all workers; None = none must."""
    if how.required is None:
        return None
    if not how.together:
        return str
    levels = how.together[-1]
    rooms.parts(levels)
    return lambda node: rooms.home(node, levels)


def could_hold(roles: Sequence[Role], rooms: Rooms) -> bool:
    """Tell whether there is room for each role alone: if not, there is none for all of them."""
    asked = (Asked(role, of_role(role)) for role in roles if role.replicas)
    return all(
        sum(each.count(kind) * len(names) for kind, names in rooms.names.items())
        >= each.role.replicas
        for each in asked
    )


class Asked(NamedTuple):
    """A role, with what one worker of it needs."""

    role: Role
    need: Need

    def count(self, kind: Kind) -> int:
        """Return how many workers a node of a kind holds, no more than there are."""
        if not has_model(kind.gpu_model, self.role):
            return 0
        return min(kind.free.holds(self.need), self.role.replicas)


class _Limits:
    """How much of each GPU model may still be taken; it goes down as workers get their nodes."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._left = dict(limits)

    def holds(self, model: str, need: Need) -> int:
        """Return how many workers may still have GPUs of a model."""
        each = CARD * need.gpus + need.milli
        if not each or model not in self._left:
            return ENDLESS
        return max(0, self._left[model]) // each

    def take(self, model: str, need: Need, workers: int) -> None:
        """Note that workers have got theirs."""
        if model in self._left:
            self._left[model] -= (CARD * need.gpus + need.milli) * workers

    def total(self, need: Need, counts: Iterable[tuple[Kind, int]]) -> int:
        """Return how many workers there may be in all, so many by room on nodes of each kind."""
        if not self._left:
            return sum([count for _, count in counts])
        by_model: dict[str, int] = {}
        for kind, count in counts:
            by_model[kind.gpu_model] = by_model.get(kind.gpu_model, 0) + count
        return sum(min(count, self.holds(model, need)) for model, count in by_model.items())


def _place(
    roles: Sequence[Role], rooms: Rooms, moved: Mapping[str, Kind], how: How
) -> Placed | Shortfall:
    asked = [Asked(role, of_role(role)) for role in roles if role.replicas]
    if not moved and len(asked) == 1 and asked[0].role.replicas == 1:
        return _single(asked[0], rooms, how.taste)
    gang = _Gang(sorted(asked, key=_size, reverse=True), how)
    return gang.place(rooms, moved)


def _size(asked: Asked) -> tuple[int, int, int, int, str]:
    need = asked.need
    return need.gpus, need.milli, need.cpus, need.memory, asked.role.name


def _single(asked: Asked, rooms: Rooms, tasted: Taste) -> Placed | Shortfall:
    """Place a single worker: on the best node of all."""
    role, need = asked

    def score(kind: Kind) -> float | None:
        found = tasted.put(kind, need) if has_model(kind.gpu_model, role) else None
        return found[0] if found else None

    model = role.gpu_model if need.gpus or need.milli else None
    node = rooms.best((tasted.name, need, model), score)
    if node is None:
        return Shortfall(role, 0, 1)
    placed = Placed()
    _put(placed, tasted, asked, node, rooms.kinds[node], role.workers)
    return placed


def _put(
    placed: Placed, tasted: Taste, asked: Asked, node: str, kind: Kind, workers: Sequence[str]
) -> Kind:
    """Put workers on a node; return the kind of node that it is then."""
    put = tasted.put(kind, asked.need, len(workers))
    assert put is not None
    after, lefts = put[1]
    placed[node] = (*placed.get(node, ()), *workers)
    if lefts:
        milli = asked.need.milli
        shared = [Shared(worker, milli, left) for worker, left in zip(workers, lefts, strict=True)]
        placed.shares = {**placed.shares, node: (*placed.shares.get(node, ()), *shared)}
    return Kind(after, kind.gpu_model)


class _Gang:
    """Places one gang. asked: the largest role first."""

    def __init__(self, asked: Sequence[Asked], how: How) -> None:
        self._asked, self._how, self._taste = asked, how, how.taste
        self._counts: list[dict[Kind, int]] = [{} for _ in asked]
        # two roles that share cards are put on cards one by one, not in the best way of all
        self._sure = sum(bool(each.need.milli) for each in asked) < 2

    def place(self, rooms: Rooms, moved: Mapping[str, Kind]) -> Placed | Shortfall:
        """Place it: on one node, else in the first kind of domain that holds it."""
        anywhere = self._in(rooms, moved)
        if isinstance(anywhere, Shortfall) or len(anywhere) == 1:
            return anywhere
        if len(self._asked) > 1 and (one := self._on_one_node(rooms, moved)):
            return one
        short = None
        for levels in self._how.together:
            found = self._in_a_domain(rooms, moved, levels)
            if not isinstance(found, Shortfall):
                return found
            short = found
        if self._how.required is None:
            return anywhere
        return short or self._most_on_one(rooms, moved)

    def _count(self, index: int, kind: Kind) -> int:
        counts = self._counts[index]
        if kind not in counts:
            counts[kind] = self._asked[index].count(kind)
        return counts[kind]

    # --- one node ------------------------------------------------------------------------------

    def _on_one_node(self, rooms: Rooms, moved: Mapping[str, Kind]) -> Placed | None:
        """Place workers of several roles on the best node that holds them all."""
        view = View.of(rooms, moved)
        best: tuple[float, str, Kind] | None = None
        for kind, size in view.sizes.items():
            worth = self._worth(kind) if size else None
            if worth is not None and (best is None or worth <= best[0]):
                found = worth, next(view.nodes(kind)), kind
                best = found if best is None else min(best, found)
        if best is None:
            return None
        placed, (_, node, kind) = Placed(), best
        for asked in self._asked:
            kind = _put(placed, self._taste, asked, node, kind, asked.role.workers)
        return placed

    def _worth(self, kind: Kind) -> float | None:
        """Return the worth of all workers on one node, None if it does not hold them."""
        for index, asked in enumerate(self._asked):
            if self._count(index, kind) < asked.role.replicas:
                return None
        after, limits = kind, _Limits(self._how.limits)
        for asked in self._asked:
            if limits.holds(kind.gpu_model, asked.need) < asked.role.replicas:
                return None
            limits.take(kind.gpu_model, asked.need, asked.role.replicas)
            put = self._taste.put(after, asked.need, asked.role.replicas)
            if put is None:
                return None
            after = Kind(put[1].room, kind.gpu_model)
        return self._taste.worth(kind, after.free, self._asked[0].need)

    def _most_on_one(self, rooms: Rooms, moved: Mapping[str, Kind]) -> Shortfall:
        view = View.of(rooms, moved)
        nodes = {next(view.nodes(kind)): [kind] for kind, size in view.sizes.items() if size}
        short = self._best_short(
            NODE, {node: self._fits({kind: 1}) for node, (kind,) in nodes.items()}
        )
        return replace(short, sure=self._sure)

    # --- one domain ----------------------------------------------------------------------------

    def _in_a_domain(
        self, rooms: Rooms, moved: Mapping[str, Kind], levels: Levels
    ) -> Placed | Shortfall:
        """Place the gang in the domain of a level that holds it with the least to spare."""
        parts = rooms.parts(levels)
        sure = True
        changed: dict[Domain, dict[str, Kind]] = {}
        for node, kind in moved.items():
            if node in rooms.kinds:
                changed.setdefault(rooms.home(node, levels), {})[node] = kind
        fits = {
            name: self._fits(_sizes(part, changed.get(name, UNCHANGED)))
            for name, part in parts.items()
        }
        for name in sorted(parts, key=lambda name: (fits[name], name)):
            if self._short_of(fits[name]) is None:
                found = self._in(parts[name], changed.get(name, UNCHANGED))
                if not isinstance(found, Shortfall):
                    return found
                sure = sure and found.sure
        names = {name[-1].lstrip("=").removeprefix("node "): fit for name, fit in fits.items()}
        return replace(self._best_short(levels[-1], names), sure=sure)

    def _fits(self, sizes: Mapping[Kind, int]) -> tuple[int, ...]:
        """Return how many workers of each role fit, each role alone."""
        limits = _Limits(self._how.limits)
        return tuple(
            limits.total(
                asked.need,
                [(kind, self._count(index, kind) * size) for kind, size in sizes.items()],
            )
            for index, asked in enumerate(self._asked)
        )

    def _short_of(self, fits: Sequence[int]) -> int | None:
        """Return the first role of which not all fit."""
        short = (i for i, asked in enumerate(self._asked) if fits[i] < asked.role.replicas)
        return next(short, None)

    def _best_short(self, level: str, fits: Mapping[str, Sequence[int]]) -> Shortfall:
        """Say what is missing in the domain that holds the most."""

        def holds(name: str) -> int:
            return sum(
                min(f, a.role.replicas) for f, a in zip(fits[name], self._asked, strict=True)
            )

        best = min(fits, key=lambda name: (-holds(name), name))
        index = self._short_of(fits[best]) or 0
        role = self._asked[index].role
        return Shortfall(role, fits[best][index], role.replicas, level, best)

    # --- nodes ---------------------------------------------------------------------------------

    def _in(self, rooms: Rooms, moved: Mapping[str, Kind]) -> Placed | Shortfall:
        order = range(len(self._asked))
        found = self._fill(order, View.of(rooms, moved))
        if isinstance(found, Shortfall) and len(order) > 1:
            # what is left between large workers may be no room for a small one: the other way round
            other = self._fill(order[::-1], View.of(rooms, moved))
            return self._mixed(found, rooms, moved) if isinstance(other, Shortfall) else other
        return found

    def _mixed(
        self, short: Shortfall, rooms: Rooms, moved: Mapping[str, Kind]
    ) -> Placed | Shortfall:
        """Place a gang that does not fit role by role: its few single workers first, each where it
        leaves enough for the many. short: what is said if there is no such place."""
        view = View.of(rooms, moved)
        parts = [self._part(index) for index in range(len(self._asked))]
        if too_little(parts, view.sizes):
            return short
        search = Search(parts, view.sizes)
        seats = search.seats()
        if seats is None:
            return replace(short, sure=search.whole and self._sure)
        placed, limits = Placed(), _Limits(self._how.limits)
        names = [iter(asked.role.workers) for asked in self._asked]
        for seat in seats:
            asked, node = self._asked[seat.role], next(view.nodes(seat.kind))
            if not limits.holds(seat.kind.gpu_model, asked.need):
                return replace(short, sure=False)
            limits.take(seat.kind.gpu_model, asked.need, 1)
            after = _put(placed, self._taste, asked, node, seat.kind, [next(names[seat.role])])
            view.move(node, after)
        found = self._fill([search.many], view, (placed, limits))
        # seats are looked for without a look at limits
        return replace(found, sure=False) if isinstance(found, Shortfall) else found

    def _part(self, index: int) -> Part:
        asked = self._asked[index]

        def put(kind: Kind) -> tuple[float, Kind] | None:
            found = self._taste.put(kind, asked.need)
            return (found[0], Kind(found[1].room, kind.gpu_model)) if found else None

        return Part(asked.need, asked.role.replicas, partial(self._count, index), put)

    def _fill(
        self, order: Sequence[int], view: View, begun: tuple[Placed, _Limits] | None = None
    ) -> Placed | Shortfall:
        placed, limits = begun or (Placed(), _Limits(self._how.limits))
        for index in order:
            asked = self._asked[index]
            role, need = asked
            counts = {
                kind: count
                for kind, size in view.sizes.items()
                if size
                and (count := min(self._count(index, kind), limits.holds(kind.gpu_model, need)))
            }
            total = limits.total(need, ((k, n * view.sizes[k]) for k, n in counts.items()))
            if total < role.replicas:
                return Shortfall(role, total, role.replicas)
            workers = list(role.workers)
            for node, count in self._share(asked, counts, view, limits):
                kind = _put(placed, self._taste, asked, node, view.kind(node), workers[:count])
                view.move(node, kind)
                del workers[:count]
        ordered = Placed(sorted(placed.items()))
        ordered.shares = placed.shares
        return ordered

    def _share(
        self, asked: Asked, counts: Mapping[Kind, int], view: View, limits: _Limits
    ) -> list[tuple[str, int]]:
        """Return how many workers each node gets: few nodes, and of these the best."""
        shares: list[tuple[str, int]] = []
        left, taken = asked.role.replicas, set[str]()

        def most(kind: Kind) -> int:
            return min(counts[kind], limits.holds(kind.gpu_model, asked.need))

        for _, kinds in self._ranks(asked, counts):
            for node in merge(*(view.nodes(kind) for kind in kinds)):
                count = most(view.kind(node))
                if count >= left:
                    enough = [kind for kind in counts if most(kind) >= left]
                    best = self._best(asked, left, enough, view, taken)
                    limits.take(view.kind(best).gpu_model, asked.need, left)
                    return [*shares, (best, left)]
                if not count:
                    continue
                shares.append((node, count))
                taken.add(node)
                limits.take(view.kind(node).gpu_model, asked.need, count)
                left -= count
        return shares

    def _ranks(self, asked: Asked, counts: Mapping[Kind, int]) -> Iterator[tuple[int, list[Kind]]]:
        """Yield kinds that go together: those that hold the most first, then the best."""
        by_count: dict[int, list[Kind]] = {}
        for kind, count in counts.items():
            by_count.setdefault(count, []).append(kind)
        for count in sorted(by_count, reverse=True):
            scored = sorted((self._score(asked, kind, count), kind) for kind in by_count[count])
            for _, group in groupby(scored, key=lambda each: each[0]):
                yield count, [kind for _, kind in group]

    def _score(self, asked: Asked, kind: Kind, count: int) -> float:
        put = self._taste.put(kind, asked.need, count)
        assert put is not None
        return put[0]

    def _best(
        self, asked: Asked, count: int, kinds: Sequence[Kind], view: View, taken: set[str]
    ) -> str:
        firsts = (
            (
                self._score(asked, kind, count),
                next((n for n in view.nodes(kind) if n not in taken), None),
            )
            for kind in kinds
        )
        return min((score, node) for score, node in firsts if node is not None)[1]


def _sizes(rooms: Rooms, moved: Mapping[str, Kind]) -> dict[Kind, int]:
    """Return how many nodes of each kind there are."""
    sizes = {kind: len(names) for kind, names in rooms.names.items()}
    for node, kind in moved.items():
        sizes[rooms.kinds[node]] -= 1
        sizes[kind] = sizes.get(kind, 0) + 1
    return sizes
