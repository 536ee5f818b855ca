"""One running installation for many cases: real server, two of every service, real processes."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from nats.aio.client import Client

from muster.contracts import subjects
from muster.contracts.events import read_event
from muster.contracts.requests import job_id, request_type
from muster.domain.state import JobState
from tests.support.eventually import eventually
from tests.support.fleet import TWICE, Fleet, Stored, publish, read_stream
from tests.support.nats import KillableServer

TENANT = "acme"
WITHIN_S = 110.0
SLEEPS = "exec sleep 600"
SAVES = "trap 'exit {code}' TERM; while :; do sleep 0.05; done"
"""A program that ends by itself, with this code, as soon as it is told to stop."""


class CaseStage:
    """Asks as people do, and reads the log."""

    def __init__(self, fleet: Fleet, server: KillableServer, client: Client) -> None:
        self.fleet, self.server, self._client = fleet, server, client
        self._numbers = itertools.count(1)

    # --- asking --------------------------------------------------------------------------------

    async def ask(self, verb: str, request: str | None = None, **data: Any) -> str:
        """Publish a request; return its id."""
        request = request or f"ask-{next(self._numbers)}"
        body = {
            "specversion": "1.0",
            "id": request,
            "source": "tests",
            "type": request_type(verb),
            "data": {"user": data.pop("user", "ann"), **data},
        }
        number = f"{request}-{next(self._numbers)}"
        subject = subjects.request_subject(TENANT, verb)
        await publish(self._client, subject, json.dumps(body).encode(), number)
        return request

    async def submit(
        self,
        name: str,
        nodes: Sequence[str],
        program: str = SLEEPS,
        kind: str = "on_demand",
        **fields: Any,
    ) -> str:
        """Submit a job that runs on some nodes only; return its id."""
        spec = {
            "name": name,
            "image": "local",
            "command": ["sh", "-c", program],
            "resource": {"type": kind, "replicas": 1, "gpus_per_replica": 4},
            "node_policy": {"type": "NodeIn", "nodes": list(nodes)},
            "grace_s": 20,
        }
        request = fields.pop("request", f"submit-{name}")
        resource = {**spec["resource"], **fields.pop("resource", {})}  # type: ignore[dict-item]
        await self.ask("submit", request, spec={**spec, "resource": resource, **fields})
        return job_id(TENANT, request)

    async def answer(self, request: str) -> list[str]:
        """Return the codes of the violations that a request was answered with; [] = accepted."""

        async def found() -> list[Stored]:
            subject = subjects.answer_subject(TENANT, request)
            return await read_stream(self._client, "ANSWERS", subject)

        answer = json.loads((await eventually(found, within=WITHIN_S, every=0.1))[-1].body)
        data = answer.get("data", answer)
        return [violation["code"] for violation in data.get("violations", [])]

    # --- reading -------------------------------------------------------------------------------

    async def log(self, job: str) -> list[Stored]:
        """Return what the log holds about a job."""
        return await read_stream(self._client, "EVENTS", f"jobs.{TENANT}.{job}.>")

    async def events(self, job: str) -> list[str]:
        """Return the names of a job's events, in order."""
        return [stored.subject.rpartition(".")[2] for stored in await self.log(job)]

    async def state(self, job: str) -> JobState | None:
        """Return a job as the log has it."""
        log = await self.log(job)
        if not log:
            return None
        found: JobState = read_event(log[-1].subject, log[-1].body).data.job
        return found

    async def reaches(self, job: str, phase: str, **fields: Any) -> JobState:
        """Wait until a job is in a phase, with these fields."""

        async def there() -> JobState | None:
            state = await self.state(job)
            same = state is not None and state.phase == phase
            fits = same and all(getattr(state, key) == value for key, value in fields.items())
            return state if fits else None

        try:
            state = await eventually(there, within=WITHIN_S, every=0.1)
        except AssertionError as error:
            raise AssertionError(await self._told(job)) from error
        assert state is not None
        return state

    async def _told(self, job: str) -> str:
        events = [read_event(stored.subject, stored.body) for stored in await self.log(job)]
        return "\n".join(f"{event.time:%H:%M:%S.%f} {event.subject}" for event in events)

    async def reaches_event(self, job: str, event: str) -> None:
        """Wait until an event of a job stands in the log."""

        async def there() -> bool:
            return event in await self.events(job)

        await eventually(there, within=WITHIN_S, every=0.02)

    # --- trouble -------------------------------------------------------------------------------

    async def poison(self) -> None:
        """Publish what is no request and no event."""
        for number, (subject, body) in enumerate(
            (
                (subjects.request_subject(TENANT, "submit"), b"{"),
                (subjects.request_subject(TENANT, "submit"), b'{"id": 7}'),
                (f"jobs.{TENANT}.nobody.started", b"[]"),
            )
        ):
            await publish(self._client, subject, body, f"poison-{number}")

    def kill_services(self) -> None:
        """kill -9 everything but the workers."""
        for process in self.fleet.processes:
            process.kill()
            process.wait()
        self.fleet.processes.clear()

    def start_services(self) -> None:
        """Start everything again."""
        for number in (1, 2):
            self.fleet.start(f"replica-{number}", TWICE)
        self.fleet.start("executor", ("executor",))


@asynccontextmanager
async def case_stage(
    folder: Path, nodes: Sequence[str], spot: Sequence[str]
) -> AsyncIterator[CaseStage]:
    """Have an installation whose nodes have four GPUs each."""
    server = KillableServer(folder / "nats")
    await server.start()
    fleet = Fleet(folder / "fleet", server.url, {})
    fleet.folder.mkdir(parents=True)
    shape = {"gpus": 4, "gpu_model": "virtual", "cpus": 64, "memory_mib": 65536}
    rows = [{"name": name, "spot": name in spot, **shape} for name in (*nodes, *spot)]
    (fleet.folder / "nodes.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    try:
        async with fleet, await fleet.connect() as client:
            yield CaseStage(fleet, server, client)
    finally:
        await server.stop()
