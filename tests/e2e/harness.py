"""Runs `muster` as its user would: a process for each command, a state folder for each test."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.client import MusterClient, connect
from muster.domain.state import JobState
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "examples" / "jobs"
TRAIN = ROOT / "examples" / "training" / "train.py"
COMMAND_S = 60.0

NODES = """\
- {name: node-1, gpus: 4, cpus: 8, memory_mib: 8192}
- {name: node-2, gpus: 4, cpus: 8, memory_mib: 8192}
"""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document that it printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON lines that it printed."""
        return [json.loads(line) for line in self.out.splitlines()]


class Muster:
    """The command line over one state folder."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.state = folder / "state"
        self._environ = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        self._environ |= {"MUSTER_STATE": str(self.state), "LC_ALL": "C.UTF-8", **(settings or {})}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start a command."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "muster.cli",
            *arguments,
            cwd=self.folder,
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *arguments: str, within: float = COMMAND_S) -> Done:
        """Run a command to its end."""
        return await ended(await self.start(*arguments), within)

    async def ok(self, *arguments: str, within: float = COMMAND_S) -> Done:
        """Run a command that must succeed."""
        done = await self.run(*arguments, within=within)
        assert done.code == 0, done
        return done

    async def up(self) -> dict[str, Any]:
        """Start a Muster in the background; returns what it says of itself."""
        done = await self.ok("up", "--detach", "--port", "0", "--nats-port", "0", "--json")
        found: dict[str, Any] = done.json
        return found

    async def submit(self, file: Path | str, *arguments: str) -> str:
        """Submit one job; returns its id."""
        done = await self.ok("submit", str(file), "--json", *arguments)
        job: str = done.json[0]["job"]
        return job

    @asynccontextmanager
    async def client(self) -> AsyncIterator[MusterClient]:
        """Have a client in this process: for waiting, without a command for each look."""
        record = json.loads((self.state / "nats" / "nats-server.json").read_text())
        url = f"nats://{record['token']}@127.0.0.1:{record['port']}"
        async with connect(url) as client:
            yield client

    async def events(self, job: str, tenant: str = "default") -> list[str]:
        """Return the names of a job's events, in order."""
        async with self.client() as client:
            timeline = await client.timeline(tenant, job)
        return [item.event.subject.rpartition(".")[2] for item in timeline]

    async def in_phase(self, job: str, *phases: str, within: float = 40.0) -> JobState:
        """Wait until a job is in one of these phases and, at its end, holds nothing."""
        async with asyncio.timeout(within), self.client() as client:
            async for item in client.events((f"jobs.default.{job}.>",), after=0):
                state = item.job
                if state.phase in phases and not (state.ended_at and state.held):
                    return state
        raise AssertionError(f"the events of {job} came to an end")

    def log(self, job: str, worker: str = "worker-0", attempt: int = 1) -> str:
        """Return what a worker has printed so far."""
        path = self.state / "executor" / "logs" / job / str(attempt) / f"{worker}.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    async def prints(self, job: str, text: str, within: float = 40.0) -> None:
        """Wait until the first worker has printed a text."""
        await eventually(lambda: text in self.log(job), within=within)

    def pid(self) -> int:
        """Return the process of `up`."""
        found: int = json.loads((self.state / "up.json").read_text())["pid"]
        return found

    def nats_pid(self) -> int:
        """Return the process of nats-server."""
        found: int = json.loads((self.state / "nats" / "nats-server.json").read_text())["pid"]
        return found


async def ended(process: asyncio.subprocess.Process, within: float = COMMAND_S) -> Done:
    """Wait for a command to end; it is killed when it does not."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    except TimeoutError:
        process.kill()
        raise
    return Done(process.returncode or 0, out.decode(), err.decode())


@asynccontextmanager
async def muster_in(
    folder: Path, nodes: str = NODES, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Muster]:
    """Have a command line over a fresh folder; whatever runs there is ended afterwards.

    settings: variables that its services start with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.yaml").write_text(nodes)
    muster = Muster(folder, settings)
    try:
        yield muster
    finally:
        await muster.run("down", "--workers")


def workers_of(job: str) -> list[int]:
    """Return every living process that was started as a worker of a job."""
    mark = f"MUSTER_JOB={job}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark in environ:
                found.append(int(entry.name))
    return found


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)


def job_file(folder: Path, name: str, command: Sequence[str], **fields: Any) -> Path:
    """Write a job of one CPU worker."""
    path = folder / f"{name}.yaml"
    spec: dict[str, Any] = {
        "name": name,
        "image": "local",
        "command": list(command),
        "resource": {"type": "on_demand", "replicas": 1},
    }
    path.write_text(json.dumps(spec | fields))
    return path


def training_file(folder: Path, name: str, steps: int, *, workers: int = 2) -> Path:
    """Write a training of some workers, a step every 50 ms."""
    command = ["python", str(TRAIN), "--steps", str(steps), "--step-time", "0.05"]
    command += ["--report-every", "5", "--checkpoint-every", "20"]
    resource = {"type": "on_demand", "replicas": workers, "gpus_per_replica": 1}
    return job_file(folder, name, command, resource=resource)
