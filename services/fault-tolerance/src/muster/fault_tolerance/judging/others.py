"""What a judgement wants to know of other jobs, and whom it tells.

Its own evidence is enough without. A database that is away costs what other jobs would have said,
and no job its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from muster.domain.diagnosis import Diagnosis
from muster.domain.errors import Temporary
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.fault_tolerance.core.attributed import Mark, attributed, exonerates, marks_of
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.surroundings import Surroundings
from muster.fault_tolerance.troubles import Troubles

_LOG = structlog.get_logger("muster.fault_tolerance")


class Others:
    """Nodes, incidents and the lanes of restarts, as all replicas share them."""

    def __init__(self, around: Surroundings, troubles: Troubles) -> None:
        self._around, self._troubles = around, troubles

    async def marks(self, state: JobState, spec: JobSpec | None) -> tuple[Mark, ...]:
        """Return what the job stands on, by what is known now."""
        try:
            await self._around.look()
        except Temporary as error:
            _LOG.warning("judged by what was known", job=state.job, why=str(error))
        return marks_of(spec, self._around.shapes(state.pool, state.held)) if spec else ()

    def silent(self, pool: str) -> bool:
        """Tell whether so many nodes went silent at once that none may be taken for dead."""
        return self._around.frozen(pool) is not None

    async def of_nodes(self, state: JobState, failure: Failure) -> Failure:
        """Add what other jobs' failures say of the nodes."""
        try:
            me = (state.tenant, state.job)
            records = await self._around.records(state.pool, sorted(state.held), me)
        except Temporary as error:
            _LOG.warning("judged without other jobs", job=state.job, why=str(error))
            return failure
        return replace(failure, records=records)

    async def at_the_same_time(
        self, state: JobState, failure: Failure, held: Diagnosis, marks: Sequence[Mark]
    ) -> Failure:
        """Tell of this failure, as it is held to be; add where else the same goes on."""
        me = (state.tenant, state.job)
        try:
            kept = attributed(failure, held, state.pool, marks)
            if exonerates(held):
                await self._around.exonerate(kept)
            incident = await self._troubles.consider(kept)
            others = await self._around.elsewhere(
                me, kept.marks, blame=held.blame, rule=held.rule, fingerprint=held.fingerprint
            )
        except Temporary as error:
            _LOG.warning("judged without other jobs", job=state.job, why=str(error))
            return failure
        if incident is not None:
            others = replace(others, incident=incident.id)
        return replace(failure, elsewhere=others)

    async def turn(self, state: JobState, marks: Sequence[Mark]) -> float:
        """Take a place among all that restart; return the seconds until then."""
        try:
            attempt = (state.tenant, state.job, state.attempt)
            return await self._around.wait_s(attempt, marks)
        except Temporary as error:
            _LOG.warning("restarts without a turn", job=state.job, why=str(error))
            return 0.0
