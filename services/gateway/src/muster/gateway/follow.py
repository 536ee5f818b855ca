"""Reads the log in order into the view, and tells whoever listens what changed. A loop's turn each.

The only writer of the view. Nothing is decided here.
"""

from __future__ import annotations

from muster.contracts import subjects
from muster.contracts.events import JobData, NodeData, PoolData, StockData, TenantData
from muster.domain.errors import Permanent
from muster.gateway.core.view import View
from muster.gateway.hub import Hub
from muster.log import EventLog, Follower, Recorded

FILTERS = (subjects.ALL_JOBS, subjects.ALL_POOLS, subjects.ALL_TENANTS)
PAGES = 64
"""Pages of one turn until the end is reached once; then one, so that streams are sent between."""


class Follow:
    """wait: seconds that one look may wait for news. caught_up: the end was reached once."""

    def __init__(self, log: EventLog, hub: Hub, wait: float) -> None:
        self._log, self._hub, self._wait = log, hub, wait
        self._follower: Follower | None = None
        self.view = View()
        self.caught_up = False

    async def step(self) -> None:
        """Take in what is new."""
        for _ in range(1 if self.caught_up else PAGES):
            if not await self._page():
                return

    async def _page(self) -> bool:
        follower = await self._open()
        try:
            page = await follower.next(self._wait if self.caught_up else 0.0)
        except Permanent:
            await self._start_over()
            raise
        for item in page:
            if isinstance(item, Recorded):
                self._see(item)
        self.view.position = max(self.view.position, follower.position)
        self.caught_up = self.caught_up or not page
        return bool(page)

    async def _open(self) -> Follower:
        if self._follower is None:
            self._follower = await self._log.follow(FILTERS, self.view.position)
        return self._follower

    async def _start_over(self) -> None:
        """The log is not the one that was read: forget everything of it, and whoever listens."""
        await self.close()
        self.view.clear()
        self._hub.clear()
        self.caught_up = False

    def _see(self, item: Recorded) -> None:
        data = item.event.data
        match data:
            case JobData():
                seen = self.view.see_job(item.job, item.seq)
                if seen is not None:
                    self._hub.tell(seen)
            case NodeData():
                self.view.see_node(item.node, item.seq)
            case PoolData():
                address = subjects.parse(item.event.subject)
                self.view.see_pool(address.names[0], data.detail)
            case StockData(detail=fact):
                self.view.see_stock(item.event.subject, fact)
            case TenantData():
                address = subjects.parse(item.event.subject)
                self.view.see_tenant(address.names[0], data.detail)

    async def close(self) -> None:
        """Give the server's resources back."""
        follower, self._follower = self._follower, None
        if follower is not None:
            await follower.close()
