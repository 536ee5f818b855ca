"""The distributed form on this machine: every service twice, one executor, one log."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import nats
import yaml
from nats.aio.client import Client

from muster.bus.provision import provision
from muster.contracts import subjects
from muster.contracts.events import read_event
from muster.contracts.requests import request_type
from muster.domain.evolve import fold
from muster.domain.state import JobState

TWICE = ("admission", "scheduler", "requeue", "fault_tolerance", "notifier", "gateway")


@dataclass
class Fleet:
    """`servers`: URLs of NATS. nodes: name -> GPUs."""

    folder: Path
    servers: str
    nodes: dict[str, int]
    database: str | None = None
    replicas: int = 1
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        async with await self.connect() as client:
            await provision(client, replicas=self.replicas)
        for number in (1, 2):
            self.start(f"replica-{number}", TWICE)
        self.start("executor", ("executor",))
        return self

    async def __aexit__(self, *failure: object) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                await asyncio.to_thread(process.wait, 20)
            except subprocess.TimeoutExpired:
                process.kill()

    async def connect(self) -> Client:
        return await nats.connect(servers=self.servers.split(","), max_reconnect_attempts=-1)

    def start(self, name: str, services: Sequence[str]) -> None:
        """Start a process of some services; its log is in the folder."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.support.fleet_process", *services]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes.append(
                subprocess.Popen(command, env=self._env(home), stdout=log, stderr=log)
            )

    def _env(self, home: Path) -> dict[str, str]:
        nodes = self.folder / "nodes.yaml"
        if not nodes.exists():
            shape = {"gpu_model": "virtual", "cpus": 64, "memory_mib": 65536}
            rows = [{"name": name, "gpus": gpus, **shape} for name, gpus in self.nodes.items()]
            nodes.write_text(yaml.safe_dump(rows), encoding="utf-8")
        database = self.database or f"sqlite:///{self.folder / 'shared.db'}"
        return {
            **os.environ,
            "MUSTER_NATS_URL": self.servers,
            "MUSTER_STATE_DIR": str(home),
            "MUSTER_DATABASE_URL": database,
            "MUSTER_EXECUTOR_NODES_FILE": str(nodes),
            "MUSTER_EXECUTOR_PUBLISH_LOGS": "false",
            "MUSTER_GATEWAY_PORT": "0",
            "MUSTER_SCHEDULER_STANDBY_LOOK_S": "1",
        }

    async def submit(self, client: Client, request: str, spec: dict[str, Any]) -> None:
        """Publish a submit request and be sure that the server has it."""
        body = {
            "specversion": "1.0",
            "id": request,
            "source": "tests",
            "type": request_type("submit"),
            "data": {"user": "ann", "spec": spec},
        }
        subject = subjects.request_subject("acme", "submit")
        await publish(client, subject, json.dumps(body).encode(), request)


async def publish(client: Client, subject: str, body: bytes, message_id: str) -> None:
    """Publish until the server says that it is stored; the same id is stored once."""
    async with asyncio.timeout(60):
        while True:
            try:
                await client.jetstream(timeout=2).publish(
                    subject, body, headers={"Nats-Msg-Id": message_id}
                )
            except (nats.errors.Error, TimeoutError):
                await asyncio.sleep(0.1)
            else:
                return


@dataclass(frozen=True)
class Stored:
    """A message of a stream."""

    seq: int
    subject: str
    body: bytes


async def read_stream(client: Client, stream: str, filters: str) -> list[Stored]:
    """Everything that a stream holds on some subjects, in order."""
    js = client.jetstream(timeout=5)
    subscription = await js.pull_subscribe(filters, stream=stream)
    found: list[Stored] = []
    pending = (await subscription.consumer_info()).num_pending or 0
    while len(found) < pending:
        for message in await subscription.fetch(min(500, pending - len(found)), timeout=10):
            found.append(Stored(message.metadata.sequence.stream, message.subject, message.data))
            await message.ack()
    await subscription.unsubscribe()
    return found


def last_states(events: Sequence[Stored]) -> dict[str, JobState]:
    """The last state of each job, which must be what its facts fold to."""
    histories: dict[str, list[Any]] = {}
    for stored in events:
        event = read_event(stored.subject, stored.body)
        histories.setdefault(event.data.job.job, []).append(event)
    for history in histories.values():
        folded = fold((event.data.detail, event.time) for event in history)
        assert folded == history[-1].data.job
    return {job: history[-1].data.job for job, history in histories.items()}


def most_held(events: Sequence[Stored]) -> dict[str, int]:
    """The most GPUs that could be in use on each node at any point of the log.

    A job that is placed on room which another one still gives back uses it from `launching` on.
    """
    held: dict[str, dict[str, int]] = {}
    most: dict[str, int] = {}
    for stored in events:
        state = read_event(stored.subject, stored.body).data.job
        for jobs in held.values():
            jobs.pop(state.job, None)
        for node, workers in state.held.items() if state.launched else ():
            gpus = sum(state.demand.role_of(worker).gpus for worker in workers)
            held.setdefault(node, {})[state.job] = gpus
        for node, jobs in held.items():
            most[node] = max(most.get(node, 0), sum(jobs.values()))
    return most
