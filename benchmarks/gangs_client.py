"""The outside system of a benchmark: it asks on the bus, and sees what becomes of it in the log.

All times are this process's own clock: from just before a request is published to the moment at
which its event is read from the stream, where only what is committed can be read.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DeliverPolicy

from benchmarks.log_server import opened
from muster.contracts import subjects
from muster.contracts.requests import job_id, request_type

TENANT = "bench"
IN_FLIGHT = 20
"""Requests whose storing has not been acknowledged yet."""

Spec = Mapping[str, Any]


def gang(
    workers: int, gpus: int, *, priority: str | int = "normal", queue_hours: int = 12
) -> dict[str, Any]:
    """Return the specification of a gang that waits for room."""
    return {
        "name": "gang",
        "image": "local",
        "command": ["train"],
        "resource": {
            "type": "reserved",
            "replicas": workers,
            "gpus_per_replica": gpus,
            "priority": priority,
        },
        "auto_queue": {"enabled": True, "max_queue_hours": queue_hours, "max_requeues": 3},
    }


class Watcher:
    """When each event of each job was first seen. job -> event -> seconds."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, float]] = defaultdict(dict)
        self.counts: dict[str, int] = defaultdict(int)
        self.nodes = 0
        self._news = asyncio.Event()

    async def receive(self, message: Msg) -> None:
        """Note one message of the log; only its subject is of interest."""
        now = time.perf_counter()
        address = subjects.parse(message.subject)
        if address.kind == "node":
            self.nodes += address.event == "joined"
        else:
            self.seen[address.names[-1]].setdefault(address.event, now)
            self.counts[address.event] += 1
        self._news.set()

    async def until(self, holds: Callable[[], bool], within: float, why: str) -> None:
        """Wait until something holds. Raises TimeoutError with the reason."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TimeoutError(f"{why}: not within {within} s; seen {dict(self.counts)}") from None

    async def all(self, jobs: Iterable[str], event: str, within: float) -> None:
        """Wait until every one of some jobs has had an event."""
        left = set(jobs)

        def done() -> bool:
            for job in [job for job in left if event in self.seen[job]]:
                left.discard(job)
            return not left

        await self.until(done, within, f"{len(left)} jobs {event}")

    def with_event(self, event: str) -> set[str]:
        """Return the jobs that have had an event."""
        return {job for job, events in self.seen.items() if event in events}


class Outside:
    """Publishes requests. asked: job -> when its submission was about to be published."""

    def __init__(self, connection: Client, watcher: Watcher) -> None:
        self._js, self.watcher = connection.jetstream(timeout=30), watcher
        self.asked: dict[str, float] = {}
        self._number = 0
        self._places = asyncio.Semaphore(IN_FLIGHT)

    async def submit(self, specs: Sequence[Spec]) -> list[str]:
        """Ask for some jobs; returns their ids once the server has stored every request."""
        return list(await asyncio.gather(*(self._submit(spec) for spec in specs)))

    async def _submit(self, spec: Spec) -> str:
        request = self._next()
        job = job_id(TENANT, request)
        async with self._places:
            self.asked[job] = time.perf_counter()
            await self._publish("submit", request, spec=spec)
        return job

    async def stop(self, jobs: Iterable[str]) -> None:
        """Ask for some jobs to be stopped, and wait until they hold nothing any more."""
        listed = list(jobs)
        await asyncio.gather(*(self._stop(job) for job in listed))
        await self.watcher.all(listed, "stop_requested", 30)

    async def _stop(self, job: str) -> None:
        async with self._places:
            await self._publish("stop", self._next(), job=job)

    def _next(self) -> str:
        self._number += 1
        return f"r{self._number}"

    async def ask(self, verb: str, **data: Any) -> None:
        """Ask for anything else."""
        async with self._places:
            await self._publish(verb, self._next(), **data)

    async def _publish(self, verb: str, request: str, **data: Any) -> None:
        body = {
            "specversion": "1.0",
            "id": request,
            "source": "bench",
            "type": request_type(verb),
            "data": {"user": "ann", **data},
        }
        await self._js.publish(
            subjects.request_subject(TENANT, verb),
            json.dumps(body).encode(),
            headers={"Nats-Msg-Id": request},
        )


@asynccontextmanager
async def outside(
    url: str, watcher: Watcher | None = None, *, only_new: bool = False
) -> AsyncIterator[Outside]:
    """Connect, and watch the log from its beginning, or from now on."""
    watching, asking = await opened(url, "watcher"), await opened(url, "outside")
    try:
        watcher = watcher or Watcher()
        await watching.jetstream().subscribe(
            ">",
            stream="EVENTS",
            cb=watcher.receive,
            ordered_consumer=True,
            deliver_policy=DeliverPolicy.NEW if only_new else DeliverPolicy.ALL,
        )
        yield Outside(asking, watcher)
    finally:
        await watching.close()
        await asking.close()
