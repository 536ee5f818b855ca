"""Watches nodes: suspects, keeps out within the brakes, readmits. A loop's turn each.

What a node did is the database's, what is said of it the log's. One replica does this at a time,
since whether a further node may be kept out depends on what was done a moment ago.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from muster.domain.nodes import (
    NodeCondition,
    NodeExcluded,
    NodeFact,
    NodeReadmitted,
    NodeState,
    NodeSuspected,
)
from muster.fault_tolerance import store
from muster.fault_tolerance.core import brakes, suspicion
from muster.fault_tolerance.core.brakes import Brake, Ground, Needed
from muster.fault_tolerance.core.suspicion import Rating, Suspicion
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.surroundings import Surroundings
from muster.fault_tolerance.troubles import Troubles
from muster.runtime.database import Database
from muster.runtime.journal import DecideNode, Journal

LEASE = timedelta(seconds=60)
LOOK_AGAIN = timedelta(seconds=60)
"""A node that a brake holds is looked at again so often, though nothing new has failed."""
FORGET = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node that failures point at."""

    node: NodeState
    rating: Rating
    why: Suspicion


class Nodes:
    """Fault tolerance's word on nodes."""

    def __init__(
        self,
        journal: Journal,
        database: Database,
        around: Surroundings,
        troubles: Troubles,
        settings: FaultToleranceSettings,
    ) -> None:
        self._journal, self._database, self._around = journal, database, around
        self._troubles, self._excludes = troubles, settings.exclude_nodes
        self._holder = journal.new_id()
        self._looked: tuple[object, datetime] | None = None
        self._forgot: datetime | None = None

    async def sweep(self) -> None:
        """Do what is due now, if this replica is the one that does it."""
        now = self._journal.clock.now()
        lease = partial(store.take_lease, name="nodes", holder=self._holder, now=now)
        if not await self._database.run(partial(lease, until=now + LEASE)):
            return
        await self._around.look()
        await self._readmit(now)
        await self._carry(now)
        if await self._is_news(now):
            await self._judge(now)
        if self._forgot is None or now - self._forgot >= FORGET:
            await self._database.run(partial(store.forget, now=now))
            self._forgot = now

    async def _is_news(self, now: datetime) -> bool:
        mark = await self._database.run(store.watermark)
        known = self._looked
        if known is not None and known[0] == mark and now - known[1] < LOOK_AGAIN:
            return False
        self._looked = (mark, now)
        return True

    async def _readmit(self, now: datetime) -> None:
        for node in self._there():
            if node.excluded_until is not None and node.excluded_until <= now:
                await self._write(node, _readmitted)

    async def _carry(self, now: datetime) -> None:
        """A machine that came back under another name is the machine that it was."""
        fleet = list(self._around.known.every_node())
        for node in self._there():
            old = suspicion.carried(node, fleet, now) if self._excludes else None
            if old is not None and old.excluded_until is not None:
                fact = NodeExcluded(
                    until=old.excluded_until,
                    why=f"it is the machine that was {old.node}",
                    why_zh=f"这台机器原名 {old.node}",
                )
                await self._write(node, partial(_unless_changed, known=node, fact=fact))

    async def _judge(self, now: datetime) -> None:
        found = await self._suspects(now)
        held: dict[str, list[tuple[Suspect, Brake]]] = {}
        for suspect in found:
            await self._suspect(suspect)
            if self._excludes and suspect.node.excluded_until is None:
                stop = await self._exclude(suspect)
                if stop is not None:
                    held.setdefault(suspect.node.pool, []).append((suspect, stop))
        await self._tell_held(held)

    async def _suspects(self, now: datetime) -> list[Suspect]:
        histories = await self._database.run(partial(store.histories, now=now))
        fleet = list(self._around.known.every_node())
        assessed = suspicion.assess(fleet, histories, now)
        found = [Suspect(each.node, each.fresh, each.why) for each in assessed if each.why]
        # the surest first, for a brake may hold the rest
        return sorted(found, key=lambda s: (not s.why.hard, -s.rating.low, s.node.node))

    async def _suspect(self, suspect: Suspect) -> None:
        node, why = suspect.node, suspect.why
        if not node.suspected or (why.proposed and not node.proposed):
            fact = NodeSuspected(why=why.en, why_zh=why.zh, proposed=why.proposed)
            await self._write(node, partial(_unless_suspected, fact=fact))

    async def _exclude(self, suspect: Suspect) -> Brake | None:
        """Keep a node out; return the brake that holds it."""
        node, why = suspect.node, suspect.why
        now = self._journal.clock.now()
        stop = brakes.brake(node, await self._ground(node.pool), now)
        if stop is None:
            fact = NodeExcluded(until=now + why.ttl, why=why.en, why_zh=why.zh)
            await self._write(node, partial(_unless_changed, known=node, fact=fact))
        return stop

    async def _ground(self, pool: str) -> Ground:
        known = self._around.known
        rows = await self._database.run(partial(store.needed, pool=pool))
        needed = [
            Needed(need.name, need.demand, known.tenant(tenant).blocked(pool, user))
            for tenant, user, need in rows
        ]
        guaranteed: dict[str, int] = {}
        for tenant in known.every_tenant():
            for model, share in tenant.shares_of(pool).items():
                guaranteed[model] = guaranteed.get(model, 0) + share.guaranteed
        frozen = self._around.frozen(pool) is not None
        return Ground(list(known.every_node()), guaranteed, needed, frozen=frozen)

    async def _tell_held(self, held: dict[str, list[tuple[Suspect, Brake]]]) -> None:
        pools = {node.pool for node in self._around.known.every_node()}
        for pool in sorted(pools):
            found = held.get(pool, [])
            names = tuple(sorted(suspect.node.node for suspect, _ in found))
            newest = [s.rating.last_at for s, _ in found if s.rating.last_at is not None]
            stop = found[0][1] if found else None
            last = max(newest, default=None)
            fact = partial(brakes.next_fact, pool=pool, brake=stop, nodes=names, newest=last)
            known = self._around.known.incident(brakes.brake_id(pool))
            if stop is not None or (known is not None and known.open):
                await self._troubles.write(brakes.brake_id(pool), fact)

    async def _write(self, node: NodeState, decide: DecideNode) -> None:
        written = await self._journal.advance_node(node.pool, node.node, decide)
        if written is not None:
            self._around.known.take(written)

    def _there(self) -> Iterator[NodeState]:
        for node in self._around.known.every_node():
            if node.condition is not NodeCondition.GONE:
                yield node


def _readmitted(state: NodeState | None, now: datetime) -> NodeFact | None:
    due = state is not None and state.excluded_until is not None and state.excluded_until <= now
    return NodeReadmitted() if due else None


def _unless_suspected(
    state: NodeState | None, now: datetime, *, fact: NodeSuspected
) -> NodeFact | None:
    if state is None or (state.suspected and (state.proposed or not fact.proposed)):
        return None
    return fact


def _unless_changed(
    state: NodeState | None, now: datetime, *, known: NodeState, fact: NodeExcluded
) -> NodeFact | None:
    """An operator may have opened the node meanwhile, or another replica kept it out."""
    same = (
        state is not None
        and state.excluded_until is None
        and state.excluded_at == known.excluded_at
        and state.cleared_at == known.cleared_at
    )
    return fact if same else None
