"""Opens, follows and closes incidents on the log; any number of replicas may do so at once.

An incident is written on the condition that its last fact still stands, so it is opened once,
however many see it. Called by the judging of each failure, before it is decided, and by a loop.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from muster.domain.incidents import Incident, IncidentFact
from muster.fault_tolerance import store
from muster.fault_tolerance.core import freeze
from muster.fault_tolerance.core.attributed import Attributed
from muster.fault_tolerance.core.freeze import Frozen, silence_id
from muster.fault_tolerance.core.incidents import (
    explained_by,
    gathered,
    next_fact,
    open_for,
    opened,
)
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.surroundings import Surroundings
from muster.runtime.database import Database
from muster.runtime.journal import DecideIncident, Journal

_LOG = structlog.get_logger("muster.fault_tolerance")


class Troubles:
    """What many failures have in common."""

    def __init__(
        self,
        journal: Journal,
        database: Database,
        around: Surroundings,
        settings: FaultToleranceSettings,
    ) -> None:
        self._journal, self._database, self._around = journal, database, around
        self._limits = settings.incident_limits

    async def consider(self, failure: Attributed) -> Incident | None:
        """Keep a failure, and return the incident that explains it, opened now if need be.

        What an incident explains is held against no machine.
        """
        if self._explaining(failure) is not None:
            failure = replace(failure, machines=())
        await self._around.record(failure)
        await self.sweep()
        return self._explaining(failure)

    def _explaining(self, failure: Attributed) -> Incident | None:
        return open_for(failure.blame, failure.marks, self._around.known.open_incidents())

    async def sweep(self) -> None:
        """Take in what is new; open what has begun, close what is over."""
        await self._around.look()
        now = self._journal.clock.now()
        await self._failures(now)
        for pool in sorted({node.pool for node in self._around.known.every_node()}):
            await self._silence(pool)

    async def _failures(self, now: datetime) -> None:
        limits = self._limits
        recent = await self._database.run(partial(store.recent, since=now - limits.within))
        seen = {each.id: each for each in gathered(recent, now, limits)}
        going_on = {each.id for each in self._around.known.open_incidents() if each.kind.pauses}
        reached = {each.id: each for each in opened(list(seen.values()), limits)}
        for name in sorted(going_on | reached.keys()):
            await self.write(name, partial(next_fact, seen=seen.get(name), limits=limits))
        for one in reached.values():  # no machine is to blame for what all of them share
            blames = explained_by(one.mark.kind)
            absolve = partial(store.absolve, mark=one.mark, blames=blames)
            await self._database.run(partial(absolve, since=now - limits.within))

    async def _silence(self, pool: str) -> None:
        name = silence_id(pool)
        known, found = self._around.known.incident(name), self._around.frozen(pool)
        if found is not None or (known is not None and known.open):
            await self.write(name, partial(_of_silence, found=found))

    async def write(self, name: str, decide: DecideIncident) -> None:
        """Write what follows for an incident, and know it at once."""
        known = self._around.known.incident(name)
        written = await self._journal.advance_incident(name, decide)
        if written is not None:
            self._around.known.take(written)
            _tell(known, written.event.data.detail.incident)


def _of_silence(
    known: Incident | None, now: datetime, *, found: Frozen | None
) -> IncidentFact | None:
    return freeze.next_fact(known, found, now)


def _tell(before: Incident | None, after: Incident) -> None:
    """Say it to whoever reads our log, once for each beginning and end."""
    if (before is None or not before.open) and after.open:
        _LOG.warning("incident", incident=after.id, what=after.en)
    elif before is not None and before.open and not after.open:
        _LOG.info("incident over", incident=after.id, by=after.closed_by or "itself")
