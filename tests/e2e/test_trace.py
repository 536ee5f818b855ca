"""One job is one trace: every service's spans arrive at a collector under the job's trace id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.eventually import eventually
from tests.support.fleet import Fleet, read_stream
from tests.support.nats import KillableServer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@asynccontextmanager
async def collector(spans: list[Span]) -> AsyncIterator[str]:
    """An OTLP collector on loopback that keeps what it gets; yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            length = 0
            while line := (await reader.readline()).decode().strip().lower():
                if line.startswith("content-length:"):
                    length = int(line.partition(":")[2])
            request = ExportTraceServiceRequest.FromString(await reader.readexactly(length))
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _text(span: Span, name: str) -> str:
    return next((a.value.string_value for a in span.attributes if a.key == name), "")


async def test_every_services_work_on_a_job_is_in_its_trace(
    nats_server: KillableServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans: list[Span] = []
    async with collector(spans) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        fleet = Fleet(tmp_path / "fleet", nats_server.url, {"n1": 2})
        async with fleet, await fleet.connect() as client:
            command = ["sh", "-c", "exit 3"]
            spec = {"name": "traced", "image": "local", "command": command, "resource": {}}
            await fleet.submit(client, "traced", spec)

            async def trace_ids() -> set[str]:
                events = [json.loads(e.body) for e in await read_stream(client, "EVENTS", "jobs.>")]
                over = any(e["data"]["job"].get("archived") for e in events)
                return {e["traceparent"].split("-")[1] for e in events} if over else set()

            (trace_id,) = await eventually(trace_ids, within=60, every=0.2)

            def services() -> set[str]:
                mine = [span for span in spans if span.trace_id.hex() == trace_id]
                return {_text(span, "muster.service") for span in mine} - {""}

            wanted = {"admission", "scheduler", "executor", "fault-tolerance", "gateway"}
            await eventually(lambda: services() >= wanted, within=30)
