"""Keeps what jobs ask for and where their attempts were launched: what nodes are judged against."""

from __future__ import annotations

from functools import partial

from muster.bus import Trigger
from muster.domain.facts import Launching
from muster.domain.state import JobState
from muster.fault_tolerance import store
from muster.fault_tolerance.core.attributed import Machine
from muster.fault_tolerance.core.suspicion import machine_of
from muster.runtime.database import Database
from muster.runtime.known import Known


class Lives:
    """The handler of `fault-tolerance-lives`; safe to run twice and out of order."""

    def __init__(self, known: Known, database: Database) -> None:
        self._known, self._database = known, database

    async def on_job(self, trigger: Trigger) -> None:
        """A job began to want something, was launched, or wants nothing any more."""
        event = trigger.event
        assert event is not None
        job: JobState = event.data.job
        await self._database.run(partial(store.wanted, job=job, at=event.time))
        if isinstance(event.data.detail, Launching):
            await self._launched(job, event.data.detail.attempt, trigger)

    async def _launched(self, job: JobState, attempt: int, trigger: Trigger) -> None:
        assert trigger.event is not None
        states = {node.node: node for node in self._known.nodes(job.pool)}
        machines = [machine_of(states[n]) if n in states else Machine(n) for n in job.held]
        await self._database.run(
            partial(
                store.launched,
                attempt=(job.tenant, job.job, attempt),
                pool=job.pool,
                machines=machines,
                at=trigger.event.time,
            )
        )
