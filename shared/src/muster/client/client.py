"""The client: one object over one connection, which belongs to the caller.

Reads of one job are answered by the log's leader, so that nobody is told of the past; listings come
from the stream that keeps each job's state.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import ValidationError

from muster.bus import asking
from muster.bus.topology import Stream
from muster.client import current, tracing
from muster.client.answers import Answers, Message
from muster.client.current import JobStatus
from muster.contracts import subjects
from muster.contracts.alarms import LogLines
from muster.contracts.events import NodeData, StockData, TenantData, UnreadableEvent, read_event
from muster.contracts.queries import ExplainJob, FitJob, Priority, Query, QueryAnswer
from muster.contracts.requests import Answer, Request
from muster.domain.errors import Permanent, Temporary
from muster.domain.nodes import NodeState
from muster.domain.pools import (
    FragmentsMeasured,
    PoolSummary,
    RoundDecided,
    SpotQuotaMeasured,
    StabilityMeasured,
)
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView
from muster.log import Recorded, Unreadable
from muster.log.jetstream import JetStreamLog

ANSWER_S = 15.0
QUERY_S = 15.0
FOLLOW_S = 1.0


class MusterClient:
    """Any number of tasks may use one at the same time. Names are plain, not patterns."""

    def __init__(self, connection: Client) -> None:
        self.connection = connection
        self._log = JetStreamLog(connection)
        self._answers = Answers(connection)

    async def close(self) -> None:
        """Give subscriptions back; the connection stays open."""
        await self._log.close()

    # --- asking for something --------------------------------------------------------------------

    async def request(
        self,
        verb: str,
        data: Mapping[str, Any],
        *,
        tenant: str,
        user: str,
        request_id: str | None = None,
        timeout: float = ANSWER_S,
    ) -> Answer:
        """Ask for something and return what became of it; `accepted` false is an answer too.

        request_id: asking twice with the same id is asking once, also tomorrow, whatever the second
        one says; None draws a new one.
        Raises NoAnswer when the request is stored and nobody has answered in `timeout` seconds.
        """
        identity = subjects.token(request_id or secrets.token_hex(16))
        with tracing.begun(verb, tenant, identity) as traceparent:
            message = Message(tenant, verb, identity, {**data, "user": user}, traceparent)
            return await self._answers.ask(message, timeout)

    async def send(
        self,
        request: Request,
        *,
        tenant: str,
        request_id: str | None = None,
        timeout: float = ANSWER_S,
    ) -> Answer:
        """The same for a request that was built from its model."""
        data = request.model_dump(mode="json", exclude_none=True)
        return await self.request(
            request.verb,
            data,
            tenant=tenant,
            user=request.user,
            request_id=request_id,
            timeout=timeout,
        )

    async def answer(self, tenant: str, request: str, timeout: float = 0.0) -> Answer | None:
        """Return the answer to an earlier request; None when there is none within `timeout` s."""
        return await self._answers.get(tenant, request, timeout)

    # --- jobs -------------------------------------------------------------------------------------

    async def job(self, tenant: str, job: str) -> Recorded | None:
        """Return a job's last event, as the log's leader knows it; None for an unknown job."""
        return await self._log.last(subjects.job_key(tenant, job), leader=True)

    async def timeline(self, tenant: str, job: str) -> Sequence[Recorded]:
        """Return a job's events in order, as far as the log has them.

        Some time after its end only the last one is left here; the gateway's archive has them all.
        """
        found = await self._log.history(subjects.job_key(tenant, job))
        return [item for item in found if isinstance(item, Recorded)]

    async def jobs(self, tenant: str | None = None) -> list[JobStatus]:
        """Return every job of a tenant, or of all, in the order in which they last changed."""
        pattern = subjects.status_pattern(tenant)
        found = await current.newest(self.connection, Stream.STATUS, pattern)
        told = [await self._status(current.status_in(message)) for message in found]
        return [status for status in told if status is not None]

    async def _status(self, found: JobStatus | Unreadable) -> JobStatus | None:
        """Look behind a status that cannot be read: the job stands where its last event left it."""
        if isinstance(found, JobStatus):
            return found
        last = await current.behind(self._log, found)
        return JobStatus(last.event, last.at) if last is not None else None

    async def unreadable(self, tenant: str | None = None) -> list[Unreadable]:
        """Return the last messages of jobs that are no event for this version."""
        pattern = subjects.status_pattern(tenant)
        found = map(
            current.status_in, await current.newest(self.connection, Stream.STATUS, pattern)
        )
        return [status for status in found if isinstance(status, Unreadable)]

    async def statuses(
        self, tenant: str | None = None, job: str | None = None
    ) -> AsyncGenerator[JobStatus, None]:
        """Yield where each job stands, and then every change, until the caller has enough.

        A job that changes several times within a moment may be told once. Raises Temporary when the
        stream cannot be followed.
        """
        pattern = subjects.status_pattern(tenant, job)
        async for message in current.newest_and_on(self.connection, Stream.STATUS, pattern):
            status = await self._status(current.status_in(message))
            if status is not None:
                yield status

    async def events(
        self, filters: Sequence[str] = (subjects.ALL_JOBS,), after: int | None = None
    ) -> AsyncGenerator[Recorded, None]:
        """Yield every event that matches, in order, from the one after sequence `after` on.

        after: None = from now on, 0 = everything. Never ends by itself; raises Temporary when the
        server has been away for long.
        """
        start = await self._log.end() if after is None else after
        follower = await self._log.follow(filters, start)
        try:
            while True:
                for item in await follower.next(FOLLOW_S):
                    if isinstance(item, Recorded):
                        yield item
        finally:
            await follower.close()

    async def logs(
        self, tenant: str, job: str, worker: str | None = None
    ) -> AsyncGenerator[LogLines, None]:
        """Yield what the workers of a job print from now on. Lines may be lost, never repeated."""
        pattern = subjects.logs_pattern(tenant, job, worker)
        try:
            subscription = await self.connection.subscribe(pattern)
        except NatsError as error:
            raise Temporary(f"cannot listen to logs: {error}") from error
        try:
            async for message in subscription.messages:
                try:
                    yield LogLines.model_validate_json(message.data)
                except ValidationError:
                    continue
        finally:
            if not self.connection.is_closed:
                await subscription.unsubscribe()

    # --- capacity ---------------------------------------------------------------------------------

    async def nodes(self, pool: str | None = None) -> list[NodeState]:
        """Return every node of a pool, or of all, by pool and name."""
        pattern = subjects.nodes_pattern(pool)
        known: dict[tuple[str, str], NodeState] = {}
        for message in await current.newest(self.connection, Stream.EVENTS, pattern):
            node = await self._node(message)
            if node is not None:
                known[node.pool, node.node] = node
        return [known[name] for name in sorted(known)]

    async def _node(self, message: Msg) -> NodeState | None:
        try:
            data = read_event(message.subject, message.data).data
        except UnreadableEvent as error:
            seq = message.metadata.sequence.stream
            last = await current.behind(self._log, Unreadable(message.subject, seq, str(error)))
            data = last.event.data if last is not None else None
        return data.node if isinstance(data, NodeData) else None

    async def stock(self, pool: str | None = None) -> list[StockChanged]:
        """Return every item of spot stock that was ever spoken of, by pool, zone and GPU model."""
        pattern = subjects.stock_pattern(pool)
        found: list[StockChanged] = []
        for message in await current.newest(self.connection, Stream.EVENTS, pattern):
            try:
                data = read_event(message.subject, message.data).data
            except UnreadableEvent:
                continue
            if isinstance(data, StockData) and isinstance(data.detail, StockChanged):
                found.append(data.detail)
        return sorted(found, key=lambda item: (item.pool, item.zone, item.gpu_model))

    async def tenants(self, tenant: str | None = None) -> dict[str, TenantView]:
        """Return the shares and block lists of a tenant, or of all of which any are recorded."""
        pattern = subjects.tenants_pattern(tenant)
        found: dict[str, TenantView] = {}
        for message in await current.newest(self.connection, Stream.EVENTS, pattern):
            try:
                data = read_event(message.subject, message.data).data
            except UnreadableEvent:
                continue
            if isinstance(data, TenantData):
                name = subjects.parse(message.subject).names[0]
                found[name] = found.get(name, TenantView()).after(data.detail)
        return {name: found[name] for name in sorted(found)}

    async def pool(self, pool: str) -> PoolSummary | None:
        """Return what the last placement round said of a pool; None before the first one."""
        found = await self._log.last(subjects.pool_key(pool, "summary"), leader=True)
        summary: PoolSummary | None = found.event.data.detail if found else None
        return summary

    async def fragments(self, pool: str) -> FragmentsMeasured | None:
        """Return of what use the free room of a pool was when it was last measured."""
        found = await self._log.last(subjects.pool_key(pool, "fragments"), leader=True)
        measured: FragmentsMeasured | None = found.event.data.detail if found else None
        return measured

    async def stability(self, pool: str) -> StabilityMeasured | None:
        """Return how long idle jobs keep their places in a pool; None if nothing is measured."""
        found = await self._log.last(subjects.pool_key(pool, "stability"), leader=True)
        measured: StabilityMeasured | None = found.event.data.detail if found else None
        return measured

    async def spot_quota(self, pool: str) -> SpotQuotaMeasured | None:
        """Return how much spot jobs may hold on ordinary nodes, as last measured."""
        found = await self._log.last(subjects.pool_key(pool, "spot_quota"), leader=True)
        measured: SpotQuotaMeasured | None = found.event.data.detail if found else None
        return measured

    async def decided(self, pool: str) -> RoundDecided | None:
        """Return when and up to where the last placement round of a pool ran."""
        found = await self._log.last(subjects.pool_key(pool, "decided"), leader=True)
        decided: RoundDecided | None = found.event.data.detail if found else None
        return decided

    # --- the plan ---------------------------------------------------------------------------------

    async def explain(
        self,
        tenant: str,
        job: str,
        *,
        what_if: Sequence[str] = (),
        priority: Priority | None = None,
        timeout: float = QUERY_S,
    ) -> QueryAnswer | None:
        """Return why a job is not running, what would help, and what the next round would do.

        None for an unknown job. The answer knows at least what this client could read before.
        Raises NobodyAnswers when no scheduler answers, Temporary when none can in time.
        """
        last = await self.job(tenant, job)
        if last is None:
            return None
        query = ExplainJob(
            tenant=tenant, job=job, what_if=tuple(what_if), priority=priority, at_least=last.seq
        )
        return await self.query(last.job.pool, query, timeout)

    async def fit(
        self,
        spec: Mapping[str, Any],
        *,
        tenant: str,
        user: str,
        pool: str = "default",
        what_if: Sequence[str] = (),
        priority: Priority | None = None,
    ) -> QueryAnswer:
        """Return what would become of a job if it was submitted now; it is not.

        pool: the one that the spec names. Raises as `explain` does.
        """
        query = FitJob(
            tenant=tenant,
            user=user,
            spec=spec,
            what_if=tuple(what_if),
            priority=priority,
        )
        return await self.query(pool, query)

    async def query(self, pool: str, query: Query, timeout: float = QUERY_S) -> QueryAnswer:
        """Ask the schedulers of a pool; `violations` are an answer too."""
        subject = subjects.query_subject(pool, query.kind)
        body = query.model_dump_json(exclude_none=True).encode()
        reply = await asking.ask(self.connection, subject, body, timeout)
        try:
            return QueryAnswer.model_validate_json(reply)
        except ValidationError as error:
            raise Permanent(f"the answer on {subject} is of another version") from error
