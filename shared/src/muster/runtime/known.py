"""What a service knows of tenants, nodes and incidents, from its own reading of the log.

Decides nothing. Read to its end before the first decision, and then every moment; what the service
writes itself it takes in at once, so that an operator's word holds for the next decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster.contracts import subjects
from muster.contracts.events import IncidentData, NodeData, TenantData
from muster.domain.errors import Permanent
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.tenants import TenantView
from muster.log import EventLog, Follower, Recorded

FILTERS = (subjects.ALL_NODES, subjects.ALL_TENANTS)
WITH_INCIDENTS = (*FILTERS, subjects.ALL_INCIDENTS)


class Known:
    """Tenants by name, nodes by pool, incidents by id."""

    def __init__(self, log: EventLog, filters: Sequence[str] = FILTERS) -> None:
        self._log, self._filters = log, filters
        self._follower: Follower | None = None
        self._reads = False
        self._tenants: dict[str, TenantView] = {}
        self._seen: dict[str, int] = {}
        self._nodes: dict[str, dict[str, NodeState]] = {}
        self._incidents: dict[str, Incident] = {}

    def tenant(self, name: str) -> TenantView:
        """Return what is known of a tenant."""
        return self._tenants.get(name, TenantView())

    def nodes(self, pool: str) -> Sequence[NodeState]:
        """Return the nodes that belong to a pool."""
        nodes = self._nodes.get(pool, {}).values()
        return [node for node in nodes if node.condition is not NodeCondition.GONE]

    def every_node(self) -> Iterator[NodeState]:
        """Yield the nodes of all pools, those that are gone too."""
        for nodes in self._nodes.values():
            yield from nodes.values()

    def every_tenant(self) -> Iterator[TenantView]:
        """Yield what is known of each tenant."""
        yield from self._tenants.values()

    def incident(self, name: str) -> Incident | None:
        """Return an incident by its id, over or not."""
        return self._incidents.get(name)

    def open_incidents(self) -> tuple[Incident, ...]:
        """Return the incidents that go on, by id."""
        return tuple(each for _, each in sorted(self._incidents.items()) if each.open)

    def all_incidents(self) -> tuple[Incident, ...]:
        """Return the last of every cause, the newest first."""
        newest = sorted(self._incidents.values(), key=lambda each: each.opened_at, reverse=True)
        return tuple(newest)

    async def step(self) -> None:
        """Take in what is new; not twice at a time."""
        if self._reads:
            return
        self._reads = True
        try:
            await self._read()
        finally:
            self._reads = False

    async def _read(self) -> None:
        try:
            if self._follower is None:
                self._follower = await self._log.follow(self._filters)
            while page := await self._follower.next():
                for item in page:
                    if isinstance(item, Recorded):
                        self.take(item)
        except Permanent:
            # the log is no longer the one that was read (it was restored, say)
            await self.close()
            self._tenants, self._seen, self._nodes, self._incidents = {}, {}, {}, {}
            raise

    def take(self, item: Recorded) -> None:
        """Take in one event; an older one than is known of its subject changes nothing."""
        subject = item.event.subject
        match item.event.data:
            case TenantData(detail=fact) if item.seq > self._seen.get(subject, 0):
                self._seen[subject] = item.seq
                name = subjects.parse(subject).names[0]
                self._tenants[name] = self.tenant(name).after(fact)
            case IncidentData(detail=fact):
                self._take_incident(fact.incident, item.seq)
            case NodeData(node=node):
                self._nodes.setdefault(node.pool, {})[node.node] = node

    def _take_incident(self, incident: Incident, seq: int) -> None:
        key = subjects.incident_key(incident.id).prefix  # its subjects differ, event by event
        if seq > self._seen.get(key, 0):
            self._seen[key] = seq
            self._incidents[incident.id] = incident

    async def close(self) -> None:
        """Give the server's resources back."""
        follower, self._follower = self._follower, None
        if follower is not None:
            await follower.close()
