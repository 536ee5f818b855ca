"""The executor's own ordered reading of the log: which jobs hold something, nodes, and the epoch.

A projection for waking up and for sweeps. Decisions about one job read its last fact instead.
"""

from __future__ import annotations

from datetime import datetime

from muster.contracts import subjects
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.state import JobState
from muster.log import EventLog, Follower, Recorded

_DOWN = {NodeCondition.LOST, NodeCondition.GONE}
_OUT = {*_DOWN, NodeCondition.FENCED}


class Watch:
    """jobs: those of the pool that are not over or still hold something, by id.

    tenants: job -> tenant of every job that was ever seen, for workers that outlived their job.
    position: every event of the log up to here was read.
    """

    def __init__(self, log: EventLog, pool: str, cluster: str) -> None:
        self._log, self._pool, self._cluster = log, pool, cluster
        self._follower: Follower | None = None
        self._epoch_subject = subjects.cluster_key(cluster, "epoch").prefix
        self.jobs: dict[str, JobState] = {}
        self.tenants: dict[str, str] = {}
        self._waiting: dict[str, JobState] = {}
        self.nodes: dict[str, NodeState] = {}
        self._out: dict[str, NodeState] = {}
        self._fences: dict[str, datetime] = {}
        self.epoch = 0
        self.position = 0
        self.caught_up = False

    async def read(self) -> list[JobState]:
        """Read what is new; return the jobs that no longer hold anything (their room is free)."""
        if self._follower is None:
            filters = (subjects.ALL_JOBS, subjects.ALL_NODES, self._epoch_subject)
            self._follower = await self._log.follow(filters)
        freed: list[JobState] = []
        end = None if self.caught_up else await self._log.end()
        while page := await self._follower.next():
            for item in page:
                if isinstance(item, Recorded):
                    self._note(item, freed)
            self.position = self._follower.position
        self.position = self._follower.position
        self.caught_up = self.caught_up or end is None or self._follower.position >= end
        return freed

    def _note(self, item: Recorded, freed: list[JobState]) -> None:
        subject = item.event.subject
        if subject.startswith("jobs."):
            self._note_job(item.job, freed)
        elif subject == self._epoch_subject:
            self.epoch = max(self.epoch, item.event.data.detail.epoch)
        elif item.node.pool == self._pool:
            self._note_node(item.node)

    def _note_node(self, node: NodeState) -> None:
        self.nodes[node.node] = node
        self._out.pop(node.node, None)
        if node.condition in _OUT:
            self._out[node.node] = node
        if node.condition is NodeCondition.FENCED:
            self._fences.setdefault(node.node, node.since)
        elif node.condition not in _DOWN:
            self._fences.pop(node.node, None)

    def _note_job(self, state: JobState, freed: list[JobState]) -> None:
        if state.pool != self._pool:
            return
        self.tenants[state.job] = state.tenant
        before = self.jobs.pop(state.job, None)
        if before is not None and before.held and not state.held:
            freed.append(state)
        if state.held or not (state.terminal or state.parked):
            self.jobs[state.job] = state
        self._waiting.pop(state.job, None)
        if state.waits_for:
            self._waiting[state.job] = state

    def held(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return which workers stand in the books: (job, node) -> their names."""
        return {
            (state.job, node): workers
            for state in self.jobs.values()
            for node, workers in state.held.items()
        }

    def waiting_for(self, victim: str) -> list[JobState]:
        """Jobs whose start waits for this victim to be gone."""
        return [
            state
            for state in self._waiting.values()
            if any(wait.job == victim for wait in state.waits_for)
        ]

    @property
    def fenced(self) -> dict[str, datetime]:
        """Nodes on which, by proof, nothing runs that was started before the instant given.

        A fenced node that then leaves the cluster is no less proof; only its return ends it.
        """
        return dict(self._fences)

    @property
    def down(self) -> frozenset[str]:
        """Nodes that are lost and are not spot capacity; what runs there is unknown."""
        return frozenset(name for name, node in self._out.items() if not node.shape.spot)

    @property
    def taken(self) -> frozenset[str]:
        """Nodes of spot capacity that are gone."""
        return frozenset(name for name, node in self._out.items() if node.shape.spot)
