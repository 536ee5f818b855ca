"""What a judgement must know beside the failure: nodes, incidents, silence, who may restart next.

Read from the log and the database; decides nothing itself. Called by the handlers that judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from muster.domain.diagnosis import Blame
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeShape
from muster.fault_tolerance import store
from muster.fault_tolerance.core.attributed import Attributed, Machine, Mark, Shared
from muster.fault_tolerance.core.failure import Elsewhere, NodeRecord
from muster.fault_tolerance.core.freeze import Frozen, frozen, silence_id
from muster.fault_tolerance.core.incidents import open_for
from muster.fault_tolerance.core.suspicion import machine_of
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.store import Lane
from muster.runtime.clock import Clock
from muster.runtime.database import Database
from muster.runtime.known import Known


class Surroundings:
    """known: nodes, tenants and incidents as the log has them; `look` reads on."""

    def __init__(
        self, known: Known, database: Database, clock: Clock, settings: FaultToleranceSettings
    ) -> None:
        self.known, self._database, self._clock = known, database, clock
        self._settings = settings

    async def look(self) -> None:
        """Take in what is new in the log."""
        await self.known.step()

    def frozen(self, pool: str) -> Frozen | None:
        """Return why nothing destructive may be done in a pool, None while it is heard of."""
        last = self.known.incident(silence_id(pool))
        nodes = [node for node in self.known.every_node() if node.pool == pool]
        return frozen(pool, nodes, self._clock.now(), last, self._settings.silence_limits)

    def incident(self, blame: Blame, marks: Iterable[Mark]) -> Incident | None:
        """Return the open incident that explains such a failure, if one does."""
        return open_for(blame, marks, self.known.open_incidents())

    def shapes(self, pool: str, nodes: Iterable[str]) -> dict[str, NodeShape]:
        """Return the shapes of these nodes, as far as they are known."""
        wanted = set(nodes)
        found = (node for node in self.known.nodes(pool) if node.node in wanted)
        return {node.node: node.shape for node in found}

    async def records(
        self, pool: str, nodes: Sequence[str], besides: tuple[str, str]
    ) -> tuple[NodeRecord, ...]:
        """Return what other jobs' failures say of these nodes. besides: (tenant, job)."""
        states = {node.node: node for node in self.known.nodes(pool)}
        machines = [machine_of(states[n]) if n in states else Machine(n) for n in nodes]
        suspected = {name for name, node in states.items() if node.suspected}
        return await self._database.run(
            partial(
                store.records,
                pool=pool,
                machines=machines,
                now=self._clock.now(),
                besides=besides,
                suspected=suspected,
            )
        )

    async def elsewhere(
        self,
        job: tuple[str, str],
        marks: Sequence[Mark],
        *,
        blame: Blame = Blame.UNKNOWN,
        rule: str | None = None,
        fingerprint: str = "",
    ) -> Elsewhere:
        """Return how many other jobs failed as this one (tenant, job) within the last minutes."""
        incident = self.incident(blame, marks)
        return await self._database.run(
            partial(
                store.elsewhere,
                failure=job,
                marks=tuple(marks),
                now=self._clock.now(),
                rule=rule,
                fingerprint=fingerprint,
                incident=incident.id if incident else None,
            )
        )

    async def record(self, failure: Attributed) -> bool:
        """Keep a judged failure; False if it was kept before."""
        return await self._database.run(partial(store.record, failure=failure))

    async def exonerate(self, failure: Attributed) -> None:
        """Hold what came on one node after another against none of them."""
        await self._database.run(partial(store.exonerate, failure=failure))

    async def wait_s(self, attempt: tuple[str, str, int], marks: Iterable[Mark]) -> float:
        """Take a slot for a restart of (tenant, job, attempt); return the seconds until then."""
        lanes = self.lanes(marks)
        now = self._clock.now()
        return await self._database.run(
            partial(store.take_token, lanes=lanes, attempt=attempt, now=now)
        )

    def lanes(self, marks: Iterable[Mark]) -> tuple[Lane, ...]:
        """Return what a restart must pass: the cluster's lane, and that of each of its storages."""
        limits = self._settings
        burst = max(1, round(limits.storage_restarts_per_minute / 4))
        storages = sorted(mark.name for mark in marks if mark.kind is Shared.STORAGE)
        return (
            Lane(CLUSTER, limits.restarts_per_minute, limits.restarts_at_once),
            *(Lane(f"storage/{n}", limits.storage_restarts_per_minute, burst) for n in storages),
        )


CLUSTER = "cluster"
"""The lane that every restart takes."""
