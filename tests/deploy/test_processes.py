"""The trial's services as processes of their own with the trial's settings, without containers.

Every environment is read from compose.yaml; only addresses and passwords are replaced. What is
proved: with least rights and a database each, all become ready, and an outside system is answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from muster.domain.edges import Owner
from muster.runtime.ports import free_port
from tests.deploy.guarded import DEPLOY, PASSWORD, Guarded
from tests.support.eventually import eventually
from tests.support.postgres import fresh_database

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.postgres]

SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


@dataclass(frozen=True)
class Process:
    owner: Owner
    health: str
    log: Path

    async def is_ready(self) -> bool:
        async with httpx.AsyncClient() as client:
            try:
                answer = await client.get(f"{self.health}/readyz", timeout=5)
            except httpx.TransportError:
                return False
        return answer.status_code == httpx.codes.OK


@pytest.fixture
def databases(postgres_url: str) -> Iterator[dict[str, str]]:
    """A database of its own for each service that the trial gives one."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(fresh_database(postgres_url))
            for name, service in SERVICES.items()
            if "MUSTER_DATABASE_URL" in service["environment"]
        }


def environment(owner: Owner, guarded: Guarded, databases: dict[str, str]) -> dict[str, str]:
    """What compose.yaml gives the service, with this machine's addresses."""
    given = {
        name: re.sub(r"\$\{\w+:\?[^}]*\}", PASSWORD, value)
        for name, value in SERVICES[owner]["environment"].items()
    }
    given["MUSTER_NATS_URL"] = given["MUSTER_NATS_URL"].replace(
        "@nats:4222", f"@127.0.0.1:{guarded.port}"
    )
    if owner in databases:
        given["MUSTER_DATABASE_URL"] = databases[owner]
    if "MUSTER_GATEWAY_HOST" in given:
        given |= {"MUSTER_GATEWAY_HOST": "127.0.0.1", "MUSTER_GATEWAY_PORT": "0"}
    return given


@pytest.fixture
async def processes(
    guarded: Guarded, databases: dict[str, str], tmp_path: Path
) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        yield [
            await start(stack, owner, environment(owner, guarded, databases), tmp_path)
            for owner in Owner
        ]


async def start(
    stack: AsyncExitStack, owner: Owner, given: dict[str, str], folder: Path
) -> Process:
    port, log = free_port(), folder / f"{owner}.log"
    variables = {
        "PATH": os.environ["PATH"],
        "MUSTER_STATE_DIR": str(folder / owner),
        "MUSTER_HTTP_PORT": str(port),
    }
    command = [sys.executable, "-m", f"muster.{owner.replace('-', '_')}.service"]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command, env=variables | given, stdout=output, stderr=subprocess.STDOUT
        )
    stack.push_async_callback(end, process, log)
    return Process(owner, f"http://127.0.0.1:{port}", log)


async def end(process: asyncio.subprocess.Process, log: Path) -> None:
    if process.returncode is None:
        process.terminate()
    assert await asyncio.wait_for(process.wait(), 20) == 0, log.read_text()


async def test_the_services_of_the_trial_are_ready_and_answer_an_outside_system(
    guarded: Guarded, processes: list[Process]
) -> None:
    for process in processes:
        try:
            await eventually(process.is_ready, within=60)
        except AssertionError as error:
            raise AssertionError(f"{process.owner}: {process.log.read_text()}") from error

    async with await guarded.connect("acme") as client:
        answers = await client.subscribe("answers.acme.>")
        await client.flush()
        assert await guarded.says("acme", "requests.acme.stop", request("stop", job="j1"))
        answer = json.loads((await answers.next_msg(timeout=20)).data)

    assert (answer["request"], answer["accepted"]) == ("r1", False)
    assert guarded.refused == []
    for process in processes:
        assert "ermissions" not in process.log.read_text(), process.owner


def request(verb: str, **data: str) -> bytes:
    return json.dumps(
        {
            "specversion": "1.0",
            "id": "r1",
            "source": "acme",
            "type": f"muster.request.{verb}.v1",
            "data": {"user": "somebody", **data},
        }
    ).encode()
