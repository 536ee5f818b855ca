"""The two programs without Muster, against a real server and the real admission."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from muster.admission.service import build
from muster.client import connect
from muster.domain.edges import Owner
from muster.runtime.host import Host
from muster.runtime.settings import HostSettings

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
async def muster_url(clean_nats_url: str, tmp_path: Path) -> AsyncIterator[str]:
    """A server with admission."""
    settings = HostSettings(nats_url=SecretStr(clean_nats_url), state_dir=tmp_path)
    host = Host(settings, [(Owner.ADMISSION, build)])
    await host.start()
    yield clean_nats_url
    await host.stop()


@asynccontextmanager
async def program(
    name: str, url: str, *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program of the examples; ended at the end."""
    environment = {"PATH": os.environ["PATH"], "USER": "ann", "MUSTER_NATS_URL": url}
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def submitted(url: str, *arguments: str) -> tuple[int | None, dict[str, object], str]:
    async with program("submit_request.py", url, *arguments) as process, asyncio.timeout(30):
        out, error = await process.communicate()
    return process.returncode, json.loads(out or b"{}"), error.decode()


async def test_a_request_is_answered_also_when_it_is_sent_again(muster_url: str) -> None:
    code, answer, _ = await submitted(muster_url, "request-1")
    assert code == 0
    assert (answer["accepted"], answer["phase"]) == (True, "queued")
    code, again, _ = await submitted(muster_url, "request-1")
    assert (code, again) == (0, answer)
    async with connect(muster_url) as muster:
        (status,) = await muster.jobs("default")
    assert (status.job.job, status.job.user) == (answer["job"], "ann")


async def test_states_are_told_first_and_then_each_change(muster_url: str) -> None:
    _, first, _ = await submitted(muster_url)
    async with program("tail_status.py", muster_url) as tail, asyncio.timeout(30):
        assert tail.stdout is not None
        told = [await tail.stdout.readline()]
        _, second, _ = await submitted(muster_url)
        while str(second["job"]).encode() not in told[-1] or b"queued" not in told[-1]:
            told.append(await tail.stdout.readline())
    assert told[0].decode() == f"default {first['job']} hello queued\n"


async def test_without_admission_the_id_to_ask_again_with_is_told(clean_nats_url: str) -> None:
    import nats

    from muster.bus.provision import provision

    async with await nats.connect(clean_nats_url) as connection:
        await provision(connection)
    code, answer, error = await submitted(clean_nats_url, "request-1")
    assert (code, answer) == (1, {})
    assert "Ask again with the id request-1" in error
    assert "Traceback" not in error


def test_following_takes_ten_lines() -> None:
    tree = ast.parse((EXAMPLES / "tail_status.py").read_text())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    meaningful = [node for node in statements if not isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(meaningful) - 1 <= 10, "the module's docstring is no line"


@pytest.mark.parametrize("name", ["tail_status.py", "submit_request.py"])
def test_nothing_of_muster_is_needed(name: str) -> None:
    tree = ast.parse((EXAMPLES / name).read_text())
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not froms
    assert imported <= set(sys.stdlib_module_names) | {"nats"}
