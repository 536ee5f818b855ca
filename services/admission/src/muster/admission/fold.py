"""What admission knows of tenants and nodes, from its own reading of the log. Decides nothing.

Read to its end before the first request is judged, and then every moment; what this admission
writes itself it takes in at once, so that an operator's word holds for the next submission.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.contracts import subjects
from muster.contracts.events import NodeData, TenantData
from muster.domain.errors import Permanent
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.tenants import TenantView
from muster.log import EventLog, Follower, Recorded

FILTERS = (subjects.ALL_NODES, subjects.ALL_TENANTS)


class Known:
    """Tenants by name, nodes by pool."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._follower: Follower | None = None
        self._reads = False
        self._tenants: dict[str, TenantView] = {}
        self._seen: dict[str, int] = {}
        self._nodes: dict[str, dict[str, NodeState]] = {}

    def tenant(self, name: str) -> TenantView:
        """Return what is known of a tenant."""
        return self._tenants.get(name, TenantView())

    def nodes(self, pool: str) -> Sequence[NodeState]:
        """Return the nodes that belong to a pool."""
        nodes = self._nodes.get(pool, {}).values()
        return [node for node in nodes if node.condition is not NodeCondition.GONE]

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
                self._follower = await self._log.follow(FILTERS)
            while page := await self._follower.next():
                for item in page:
                    if isinstance(item, Recorded):
                        self.take(item)
        except Permanent:
            # the log is no longer the one that was read (it was restored, say)
            await self.close()
            self._tenants, self._seen, self._nodes = {}, {}, {}
            raise

    def take(self, item: Recorded) -> None:
        """Take in one event; an older one than is known of its subject changes nothing."""
        subject = item.event.subject
        match item.event.data:
            case TenantData(detail=fact) if item.seq > self._seen.get(subject, 0):
                self._seen[subject] = item.seq
                name = subjects.parse(subject).names[0]
                self._tenants[name] = self.tenant(name).after(fact)
            case NodeData(node=node):
                self._nodes.setdefault(node.pool, {})[node.node] = node

    async def close(self) -> None:
        """Give the server's resources back."""
        follower, self._follower = self._follower, None
        if follower is not None:
            await follower.close()
