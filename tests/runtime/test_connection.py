"""Opening connections: as whom, to whom, and what happens when nobody is there or it is closed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nkeys
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from muster.domain.errors import Temporary
from muster.runtime.connection import NatsSettings, connect
from muster.runtime.ports import LOOPBACK, free_port
from tests.support.configured import ConfiguredServer
from tests.support.eventually import eventually
from tests.support.nats import KillableServer


def guarded(folder: Path, user: str) -> ConfiguredServer:
    """Return a server that asks who we are."""
    return ConfiguredServer(folder, f"authorization {{ users: [ {user} ] }}\n")


async def usable(connection: Client) -> bool:
    """Tell whether the server answers, and close."""
    try:
        await connection.flush(timeout=5)
        return bool(connection.is_connected)
    finally:
        await connection.close()


async def test_a_token_in_the_address_is_enough(nats_server: KillableServer) -> None:
    assert await usable(await connect(NatsSettings(servers=nats_server.url, name="me")))


async def test_user_and_password(tmp_path: Path) -> None:
    async with guarded(tmp_path, '{user: "muster", password: "secret"}') as server:
        settings = NatsSettings.model_validate(
            {"servers": server.url, "user": "muster", "password": "secret"}
        )
        assert await usable(await connect(settings))
        wrong = settings.model_copy(update={"user": "other", "wait_s": 1.0})
        with pytest.raises(Temporary):
            await connect(wrong)


async def test_a_key_in_a_file(tmp_path: Path) -> None:
    seed = nkeys.encode_seed(b"x" * 32, nkeys.PREFIX_BYTE_USER)
    public = nkeys.from_seed(bytearray(seed)).public_key.decode()
    key = tmp_path / "muster.nk"
    key.write_bytes(bytes(seed))
    async with guarded(tmp_path, f"{{nkey: {public}}}") as server:
        assert await usable(await connect(NatsSettings(servers=server.url, nkey=key)))


async def test_a_password_is_never_shown() -> None:
    settings = NatsSettings.model_validate({"user": "muster", "password": "secret"})
    assert "secret" not in repr(settings)


async def test_replies_come_under_the_prefix_that_permissions_name(
    nats_server: KillableServer,
) -> None:
    connection = await connect(NatsSettings(servers=nats_server.url, inbox="_INBOX_me"))
    assert connection.new_inbox().startswith("_INBOX_me.")
    await connection.close()


async def test_without_a_server_it_gives_up_in_time() -> None:
    started = asyncio.get_running_loop().time()
    told: list[str] = []
    settings = NatsSettings(servers=f"nats://{LOOPBACK}:{free_port()}", wait_s=1.0)
    with pytest.raises(Temporary, match="cannot be reached"):
        await connect(settings, lambda: told.append("closed"))
    assert asyncio.get_running_loop().time() - started < 5
    assert told == []


async def test_the_second_of_several_servers_will_do(nats_server: KillableServer) -> None:
    servers = f"nats://{LOOPBACK}:{free_port()}, {nats_server.url}"
    assert await usable(await connect(NatsSettings(servers=servers)))


async def test_it_comes_back_after_the_server_does(nats_server: KillableServer) -> None:
    connection = await connect(NatsSettings(servers=nats_server.url))
    await nats_server.kill()
    await eventually(lambda: not connection.is_connected)
    await asyncio.sleep(1.2)
    await nats_server.restart()
    await eventually(lambda: connection.is_connected)
    assert await usable(connection)


async def test_its_end_is_told_once(nats_server: KillableServer) -> None:
    told: list[str] = []
    connection = await connect(NatsSettings(servers=nats_server.url), lambda: told.append("closed"))
    await connection.close()
    await connection.close()
    assert told == ["closed"]


async def test_it_can_be_closed_while_the_server_is_away(nats_server: KillableServer) -> None:
    told: list[str] = []
    connection = await connect(NatsSettings(servers=nats_server.url), lambda: told.append("closed"))
    await nats_server.kill()
    await eventually(lambda: not connection.is_connected)
    async with asyncio.timeout(5):
        await connection.close()
    assert told == ["closed"]
    with pytest.raises(NatsError):
        await connection.publish("anything")
