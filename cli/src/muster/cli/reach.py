"""What commands ask of Muster, in their own words. Called by every command that talks to it.

A thin layer over `muster.client`: finds jobs by what people call them, ends a reading where the log
ended when it began, and turns silence into an error that says what to do.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from muster.bus import NobodyAnswers
from muster.cli.choosing import choose
from muster.cli.connecting import Address, address
from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.imagining import Supposed
from muster.cli.session import DEFAULT_TENANT, Session
from muster.client import MusterClient, NoAnswer, connect
from muster.client.faults import ask_fingerprints, ask_hang, ask_nodes
from muster.client.notices import ask_notifier
from muster.contracts import subjects
from muster.contracts.alarms import LogLines
from muster.contracts.events import IncidentData
from muster.contracts.fault_questions import HangAnswer
from muster.contracts.judgements import FingerprintClusters, NodeRatings
from muster.contracts.notices import NoticeQuestion
from muster.contracts.queries import QueryAnswer
from muster.contracts.requests import Answer, Request
from muster.domain.clock import ClockSet
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeState
from muster.domain.pools import (
    FragmentsMeasured,
    PoolSummary,
    SpotQuotaMeasured,
    StabilityMeasured,
)
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView
from muster.log import Recorded
from muster.log.jetstream import JetStreamLog

ANSWER_S = 15.0
WAIT_S = 1.0
NAME = "muster-cli"
A = TypeVar("A", bound=BaseModel)
_ID = re.compile(r"j[0-9a-f]{19}")


class Reach:
    """One connection. log_folder: where workers' output lies, if it is on this machine."""

    def __init__(self, client: MusterClient, log_folder: Path | None = None) -> None:
        self._client = client
        self._log = JetStreamLog(client.connection)
        self.log_folder = log_folder

    async def now(self) -> datetime:
        """Return Muster's time: the server's, less what the services have agreed to take off."""
        found = await self._log.last(subjects.CLOCK)
        told = await self._log.now()
        fact: ClockSet | None = found.event.data.detail if found else None
        return told - timedelta(seconds=fact.offset_at(told) if fact else 0.0)

    async def jobs(self, tenant: str | None = None) -> list[JobState]:
        """Return every job as it stands."""
        return [status.job for status in await self._client.jobs(tenant)]

    async def find(self, text: str, tenant: str | None = None) -> JobState:
        """Return the job that a person means. Raises CliError."""
        if _ID.fullmatch(text):
            # asked for by its id alone: the leader knows it at once, the listing a moment later
            state = await self.state(tenant or DEFAULT_TENANT, text)
            if state is not None:
                return state
        return choose(await self.jobs(tenant), text)

    async def debug_jobs(self, origin: JobState) -> list[JobState]:
        """Return the jobs that were made to look into one, the oldest first."""
        found = [each for each in await self.jobs(origin.tenant) if each.origin == origin.job]
        return sorted(found, key=lambda each: each.submitted_at)

    async def state(self, tenant: str, job: str) -> JobState | None:
        """Return one job as the log's leader knows it."""
        last = await self._client.job(tenant, job)
        return last.job if last else None

    async def history(self, tenant: str, job: str) -> Sequence[Recorded]:
        """Return a job's events that the log still has."""
        return await self._client.timeline(tenant, job)

    async def nodes(self, pool: str | None = None) -> list[NodeState]:
        """Return every node as it stands."""
        return await self._client.nodes(pool)

    async def tenants(self, tenant: str | None = None) -> dict[str, TenantView]:
        """Return the shares and block lists that are recorded, by tenant."""
        return await self._client.tenants(tenant)

    async def stock(self, pool: str | None = None) -> list[StockChanged]:
        """Return the spot stock as it stands."""
        return await self._client.stock(pool)

    async def pool(self, pool: str) -> PoolSummary | None:
        """Return what the last placement round said of a pool."""
        return await self._client.pool(pool)

    async def fragments(self, pool: str) -> FragmentsMeasured | None:
        """Return of what use the free room of a pool was when it was last measured."""
        return await self._client.fragments(pool)

    async def stability(self, pool: str) -> StabilityMeasured | None:
        """Return how long idle jobs keep their places in a pool, as it was measured last."""
        return await self._client.stability(pool)

    async def spot_quota(self, pool: str) -> SpotQuotaMeasured | None:
        """Return how much spot jobs may hold on ordinary nodes, as last measured."""
        return await self._client.spot_quota(pool)

    async def events(self, filters: Sequence[str]) -> AsyncIterator[Recorded]:
        """Yield the events that there are now, in order."""
        end = await self._log.end()
        reader = await self._log.follow(filters)
        try:
            while reader.position < end:
                for item in await reader.next(WAIT_S):
                    if isinstance(item, Recorded) and item.seq <= end:
                        yield item
        finally:
            await reader.close()

    def events_and_on(self, filters: Sequence[str]) -> AsyncIterator[Recorded]:
        """Yield the events that there are, and those that come."""
        return self._client.events(filters, after=0)

    def job_events(self, tenant: str, job: str) -> AsyncIterator[Recorded]:
        """Yield every event of one job, past and to come."""
        return self.events_and_on((subjects.job_key(tenant, job).condition,))

    def heard_lines(self, tenant: str, job: str) -> AsyncIterator[LogLines]:
        """Yield what workers print from now on; some may be lost."""
        return self._client.logs(tenant, job)

    async def explain(self, job: JobState, as_if: Supposed) -> QueryAnswer:
        """Ask the scheduler about a job. Raises NobodyAnswers, Refusal."""
        answer = await self._client.explain(
            job.tenant, job.job, what_if=as_if.what_if, priority=as_if.priority
        )
        if answer is None:
            raise CliError("no_job", text=job.job)
        if answer.violations:
            raise Refusal("question", answer.violations, what=job.job)
        return answer

    async def hang(self, job: JobState) -> HangAnswer:
        """Ask fault tolerance about a job's silence. Raises NobodyAnswers."""
        return await ask_hang(self._client.connection, job.pool, job.tenant, job.job)

    async def node_ratings(self, pool: str | None = None) -> NodeRatings:
        """Ask fault tolerance which nodes failures point at. Raises NobodyAnswers."""
        return await ask_nodes(self._client.connection, pool)

    async def fingerprints(self, limit: int) -> FingerprintClusters:
        """Ask fault tolerance which failures no rule knows. Raises NobodyAnswers."""
        return await ask_fingerprints(self._client.connection, limit)

    async def notices(self, tenant: str, question: NoticeQuestion, model: type[A]) -> A:
        """Ask the notifier. Raises CliError when nobody answers."""
        try:
            return await ask_notifier(self._client.connection, tenant, question, model)
        except NobodyAnswers as error:
            seconds = f"{error.seconds:.1f}"
            raise CliError("no_notifier", Exit.UNREACHABLE, seconds=seconds) from error

    async def incidents(self) -> list[Incident]:
        """Return the last incident of every cause, the newest first."""
        last: dict[str, Incident] = {}
        async for item in self.events((subjects.ALL_INCIDENTS,)):
            if isinstance(item.event.data, IncidentData):
                incident = item.event.data.detail.incident
                last[incident.id] = incident
        return sorted(last.values(), key=lambda each: each.opened_at, reverse=True)

    async def fit(
        self, spec: Mapping[str, Any], tenant: str, user: str, pool: str, as_if: Supposed
    ) -> QueryAnswer:
        """Ask the scheduler what would become of a job. Raises NobodyAnswers."""
        return await self._client.fit(
            spec,
            tenant=tenant,
            user=user,
            pool=pool,
            what_if=as_if.what_if,
            priority=as_if.priority,
        )

    async def request(self, tenant: str, body: Request, request: str | None = None) -> Answer:
        """Send a request and return its answer. Raises CliError when nobody answers."""
        try:
            return await self._client.send(
                body, tenant=tenant, request_id=request, timeout=ANSWER_S
            )
        except NoAnswer as error:
            raise CliError("no_answer", Exit.UNREACHABLE, seconds=f"{ANSWER_S:g}") from error


@asynccontextmanager
async def reach(session: Session) -> AsyncIterator[Reach]:
    """Have a connection to Muster while the block runs. Raises CliError, Temporary."""
    async with reach_at(address(session)) as muster:
        yield muster


@asynccontextmanager
async def reach_at(where: Address) -> AsyncIterator[Reach]:
    """The same for an address."""
    async with connect(where.url, credentials=where.credentials, name=NAME) as client:
        yield Reach(client, where.local.logs if where.local else None)
