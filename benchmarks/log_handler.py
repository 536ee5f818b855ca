"""The whole path of a handler: woken by the bus, read, decide, append, acknowledge; traced too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nats.aio.client import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from benchmarks.log_jobs import Job, jobs
from benchmarks.log_raw import Message, handled
from muster.bus import Subscription, Trigger
from muster.bus.faststream import FastStreamBus
from muster.bus.topology import Consumer, Stream
from muster.domain import facts as f
from muster.domain.edges import Owner, may_follow
from muster.log import Append, nothing
from muster.log.jetstream import JetStreamLog
from muster.runtime.clock import ServerClock
from muster.runtime.ids import new_id
from muster.runtime.journal import Journal

IN_FLIGHT = 128
SAMPLED = 0.05
OURS, RAW = "ours", "raw"

CONSUMERS = tuple(
    Consumer(
        f"bench-{tenant}",
        Owner.ADMISSION,
        Stream.EVENTS,
        (f"jobs.{tenant}.*.submitted",),
        in_flight=IN_FLIGHT,
    )
    for tenant in (OURS, RAW)
)


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def sample_traces() -> None:
    """Record spans as a deployment does: some of them, exported in the background."""
    provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(SAMPLED)))
    provider.add_span_processor(BatchSpanProcessor(_Nowhere()))
    trace.set_tracer_provider(provider)


async def submitted(log: JetStreamLog, count: int, tenant: str) -> list[Job]:
    """Write the first event of so many jobs."""
    made = jobs(count, tenant, events=2)
    for start in range(0, count, 500):
        await log.append_all(
            [Append(job.events[0], nothing(job.key)) for job in made[start : start + 500]]
        )
    return made


class Handling:
    """One round of ours: a service that admits what is submitted."""

    def __init__(self, connection: Client, log: JetStreamLog, count: int) -> None:
        self._bus = FastStreamBus(connection)
        self._log, self._left = log, count
        self._clock = ServerClock(log, Owner.ADMISSION)
        self._journal = Journal(Owner.ADMISSION, log, self._clock, new_id)
        self._done = asyncio.Event()

    async def run(self) -> None:
        """Handle everything that waits."""
        await self._clock.synchronise()
        await self._bus.consume(Subscription(CONSUMERS[0], self._admit))
        await self._done.wait()

    async def close(self) -> None:
        """Stop listening."""
        await self._bus.close()

    async def _admit(self, trigger: Trigger) -> None:
        assert trigger.event is not None
        state = trigger.event.data.job
        await self._journal.advance(
            state.tenant,
            state.job,
            lambda last, now: f.Admitted() if may_follow("admitted", last.job.phase) else None,
            at_least=trigger.seq,
        )
        self._left -= 1
        if not self._left:
            self._done.set()


async def raw_handling(connection: Client, answers: Sequence[Message]) -> None:
    """The same without us."""
    consumer = CONSUMERS[1]
    await handled(connection, consumer.stream, consumer.durable, answers, IN_FLIGHT)
