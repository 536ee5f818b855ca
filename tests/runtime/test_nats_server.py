"""The embedded server, with the real binary: it outlives, is adopted, and is never there twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest

from muster.bus.provision import ServerTooOld
from muster.runtime.nats_binary import ServerMissing, find_binary
from muster.runtime.nats_folder import ServerFolder
from muster.runtime.nats_server import EmbeddedServer, Happened, ServerNews, ServerNotReady
from muster.runtime.ports import free_port, is_free
from muster.runtime.processes import start_mark
from tests.support.eventually import eventually


def holds_nothing(folder: Path) -> bool:
    """True if no server runs on the folder's store."""
    lock = ServerFolder(folder).take_lock()
    if lock is not None:
        os.close(lock)
    return lock is not None


class Told(list[ServerNews]):
    def kinds(self) -> list[Happened]:
        return [news.what for news in self]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def server(tmp_path: Path, told: Told) -> AsyncIterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path, port=free_port(), tell=told.append)
    yield server
    await server.stop()


async def put(url: str, text: bytes) -> None:
    async with await nats.connect(url) as client:
        stream = client.jetstream()
        await stream.add_stream(name="KEPT", subjects=["kept"])
        await stream.publish("kept", text)


async def get(url: str) -> bytes | None:
    async with await nats.connect(url) as client:
        message = await client.jetstream().get_last_msg("KEPT", "kept")
        return message.data


async def test_starts_on_the_wanted_port_with_jetstream_that_syncs_always(tmp_path: Path) -> None:
    port = free_port()
    server = EmbeddedServer(tmp_path / "a folder", port=port)
    url = await server.start()
    try:
        assert url.endswith(f"@127.0.0.1:{port}")
        await put(url, b"1")
        assert await get(url) == b"1"
        assert "sync_interval: always" in (tmp_path / "a folder" / "nats-server.conf").read_text()
    finally:
        await server.stop()
    assert is_free(port)


async def test_refuses_a_client_without_the_token(server: EmbeddedServer) -> None:
    await server.start()
    reader, writer = await asyncio.open_connection(*server.address.split(":"))
    writer.write(b"CONNECT {}\r\nPING\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()

    assert b"-ERR 'Authorization Violation'" in answer


async def test_secrets_are_for_the_owner_only(server: EmbeddedServer, tmp_path: Path) -> None:
    await server.start()
    for name in ("nats-server.conf", "nats-server.json"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0


async def test_is_adopted_by_the_next_object(
    server: EmbeddedServer, tmp_path: Path, told: Told
) -> None:
    url = await server.start()
    await put(url, b"before")
    await server.detach()

    second = EmbeddedServer(tmp_path, port=free_port(), tell=told.append)

    assert await second.start(supervise=False) == url
    assert second.pid == server.pid
    assert await get(url) == b"before"
    assert told.kinds() == [Happened.STARTED, Happened.ADOPTED]


STARTER = """
import asyncio, sys
from pathlib import Path
from muster.runtime.nats_server import EmbeddedServer
async def main():
    server = EmbeddedServer(Path(sys.argv[1]), port=int(sys.argv[2]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_survives_kill_9_of_its_starter(server: EmbeddedServer, tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path), str(free_port())]
    starter = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.PIPE, start_new_session=True
    )
    assert starter.stdout is not None
    pid = int(await starter.stdout.readline())
    os.killpg(starter.pid, signal.SIGKILL)
    await starter.wait()

    await server.start()

    assert server.pid == pid


async def test_adopts_a_server_whose_starter_died_before_noting_it(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    await server.start(supervise=False)
    record = json.loads((tmp_path / "nats-server.json").read_text())
    (tmp_path / "nats-server.json").write_text(json.dumps(record | {"pid": None, "mark": None}))

    second = EmbeddedServer(tmp_path)
    await second.start(supervise=False)

    assert second.pid == server.pid == record["pid"]


async def test_restarts_on_the_same_port_and_store_after_sigkill(
    server: EmbeddedServer, told: Told
) -> None:
    url = await server.start()
    await put(url, b"kept")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)

    await eventually(lambda: Happened.RESTARTED in told.kinds())

    assert server.url == url
    assert await get(url) == b"kept"
    assert told.kinds() == [Happened.STARTED, Happened.DIED, Happened.RESTARTED]


async def test_a_watcher_that_adopted_restarts_too(
    server: EmbeddedServer, tmp_path: Path, told: Told
) -> None:
    await server.start(supervise=False)
    second = EmbeddedServer(tmp_path, tell=told.append)
    url = await second.start()
    assert second.pid is not None
    os.kill(second.pid, signal.SIGKILL)

    await eventually(lambda: Happened.RESTARTED in told.kinds())

    assert second.url == url
    await second.stop()


async def test_two_watchers_restart_it_once(server: EmbeddedServer, tmp_path: Path) -> None:
    told = Told()
    await server.start()
    second = EmbeddedServer(tmp_path, tell=told.append)
    await second.start()
    before = server.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)

    await eventually(lambda: server.pid == second.pid != before)
    await second.detach()


async def test_a_stop_elsewhere_is_not_undone_by_a_watcher(
    server: EmbeddedServer, tmp_path: Path, told: Told
) -> None:
    await server.start()
    second = EmbeddedServer(tmp_path)
    await second.start(supervise=False)

    await second.stop()
    assert server._watcher is not None
    await asyncio.wait_for(server._watcher, 10)

    assert told.kinds() == [Happened.STARTED]
    assert holds_nothing(tmp_path)


async def test_a_busy_port_is_replaced_and_the_new_one_remembered(tmp_path: Path) -> None:
    told = Told()
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        busy = squatter.getsockname()[1]
        server = EmbeddedServer(tmp_path, port=busy, tell=told.append)
        first = await server.start()
    await server.stop()

    again = EmbeddedServer(tmp_path, port=busy)
    try:
        assert await again.start() == first
    finally:
        await again.stop()
    assert told.kinds() == [Happened.PORT_BUSY, Happened.STARTED]


async def test_many_starters_at_once_end_with_one_server(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    others = [EmbeddedServer(tmp_path, port=free_port()) for _ in range(4)]

    urls = await asyncio.gather(*(one.start(supervise=False) for one in [server, *others]))

    assert len(set(urls)) == 1
    assert len({one.pid for one in [server, *others]}) == 1


async def test_stop_ends_the_process_and_keeps_the_data(server: EmbeddedServer) -> None:
    url = await server.start()
    await put(url, b"kept")
    pid = server.pid
    assert pid is not None

    await server.stop()
    assert start_mark(pid) is None
    await server.stop()

    assert await server.start() == url
    assert await get(url) == b"kept"


async def test_stop_before_any_start_does_nothing(tmp_path: Path) -> None:
    await EmbeddedServer(tmp_path).stop()


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the store should be")
    server = EmbeddedServer(tmp_path, port=free_port())

    with pytest.raises(ServerNotReady, match=r"does not start: .*storage directory"):
        await server.start()


def fake_server(folder: Path, version: str) -> Path:
    path = folder / "nats-server"
    path.write_text(f"#!/bin/sh\necho 'nats-server: {version}'\n")
    path.chmod(0o755)
    return path


async def test_a_too_old_server_is_refused_with_both_versions(tmp_path: Path) -> None:
    old = fake_server(tmp_path, "v2.10.4")
    server = EmbeddedServer(tmp_path / "state", binary=old)

    with pytest.raises(ServerTooOld, match=r"2\.14\.0 or newer is needed, .* is 2\.10\.4"):
        await server.start()

    assert holds_nothing(tmp_path / "state")


@pytest.mark.parametrize(
    ("version", "wins"),
    [("v99.0.0", True), ("v2.14.0", False), ("v2.10.4", False), ("nonsense", False)],
)
def test_the_one_on_path_is_used_only_if_it_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, wins: bool
) -> None:
    on_path = fake_server(tmp_path, version)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert (find_binary().path == on_path.resolve()) is wins


def test_a_forced_path_that_does_not_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServerMissing, match="does not answer"):
        find_binary(tmp_path / "nothing")
