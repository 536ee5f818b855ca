"""Credentials, certificates and limits that change under way: the cause is named, with a remedy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from nats.aio.client import Client
from structlog.testing import capture_logs

from muster import client as outside
from muster.bus.api import call
from muster.bus.provision import provision
from muster.bus.publishing import publish_stored
from muster.bus.topology import STREAMS, Stream
from muster.domain.errors import Permanent, Temporary
from muster.domain.troubles import TROUBLES, explained, told, trouble_of
from muster.log import UnknownOutcome, nothing
from muster.log.jetstream import JetStreamLog
from muster.runtime.connection import NatsSettings, connect
from tests.contract.log_events import Job
from tests.support.configured import Authority, ConfiguredServer
from tests.support.eventually import eventually
from tests.support.identities import Realm

BODY = b"x" * 1000


def users(password: str) -> str:
    return f'authorization {{ users: [ {{user: "muster", password: "{password}"}} ] }}\n'


def account(folder: Path, limits: str, more: str = "") -> str:
    return (
        f'jetstream {{ store_dir: "{folder / "store"}" }}\naccounts {{ M: {{ jetstream: {limits}\n'
        f"users: [ {{user: muster, password: right}} ]\n{more} }} }}\n"
    )


def settings(server: ConfiguredServer, password: str = "right", wait: float = 5.0) -> NatsSettings:
    return NatsSettings(servers=server.url_of("muster", password), name="me", wait_s=wait)


async def refused(wanted: NatsSettings) -> str:
    """Return as what `connect` fails, once it has been refused for its whole patience."""
    with pytest.raises(Temporary) as told_:
        await connect(wanted.model_copy(update={"wait_s": 1.0}))
    return str(told_.value)


def causes(lines: Sequence[Mapping[str, object]]) -> list[object]:
    return [line["trouble"] for line in lines if "trouble" in line]


@pytest.fixture
async def opened() -> AsyncIterator[list[Client]]:
    """What a test opens; closed behind it."""
    connections: list[Client] = []
    yield connections
    for connection in connections:
        await connection.close()


@pytest.mark.sibling_of("BUS-08")
async def test_credentials_that_change_under_way_end_the_process_and_are_named(
    tmp_path: Path,
) -> None:
    ended: list[str] = []
    async with ConfiguredServer(tmp_path, users("right")) as server:
        connection = await connect(settings(server), lambda: ended.append("closed"))
        with capture_logs() as lines:
            server.reload(users("other"))
            await eventually(lambda: ended)
        assert causes(lines) == ["credentials_refused"]
        with pytest.raises(Temporary, match="does not accept these credentials"):
            await call(connection, "INFO")
        with pytest.raises(Temporary, match="MUSTER_NATS_CREDENTIALS"):
            await publish_stored(connection, "a.b", BODY, id="1", patience=0.1)
        assert "does not accept these credentials" in await refused(settings(server))
        await (await connect(settings(server, "other"))).close()


@pytest.mark.sibling_of("BUS-08")
async def test_credentials_that_are_wrong_for_a_while_are_told_once_and_then_forgotten(
    tmp_path: Path, opened: list[Client]
) -> None:
    async with ConfiguredServer(tmp_path, users("right")) as server:
        connection = await connect(settings(server))
        opened.append(connection)
        with capture_logs() as lines:
            await server.restart(users("other"))
            await eventually(lambda: causes(lines))
            await asyncio.sleep(1.2)  # two more tries of the client
            await server.restart(users("right"))
            await eventually(lambda: connection.is_connected)
        assert causes(lines) == ["credentials_refused"]
        await connection.flush(5)


@pytest.mark.sibling_of("BUS-08")
async def test_credentials_that_expire_are_named(tmp_path: Path) -> None:
    realm, file, ended = Realm(), tmp_path / "me.creds", list[str]()
    async with ConfiguredServer(tmp_path, realm.config) as server:
        file.write_text(realm.credentials(int(time.time()) + 2))
        mine = NatsSettings(servers=server.url, credentials=file)
        await connect(mine, lambda: ended.append("closed"))
        with capture_logs() as lines:
            await eventually(lambda: ended)
        assert causes(lines) == ["credentials_expired"]
        file.write_text(realm.credentials(int(time.time()) - 10))
        assert "credentials" in await refused(mine)
        file.write_text(realm.credentials(int(time.time()) + 300))
        await (await connect(mine)).close()


@pytest.mark.sibling_of("BUS-08")
async def test_a_certificate_that_changes_is_named_and_a_right_one_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[Client]
) -> None:
    ours, other = Authority(tmp_path / "ours"), Authority(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate))
    right = ours.sign("127.0.0.1")
    asks = right.replace("tls {", f'tls {{ verify: true, ca_file: "{ours.certificate}",')
    async with ConfiguredServer(tmp_path, right) as server:
        mine = NatsSettings(servers=server.url)
        connection = await connect(mine)
        opened.append(connection)
        for config, code in (
            (ours.sign("127.0.0.1", days=-1), "certificate_expired"),
            (other.sign("127.0.0.1"), "certificate_unknown"),
            (ours.sign("127.0.0.2"), "certificate_name"),
            (asks, "certificate_wanted"),
        ):
            with capture_logs() as lines:
                await server.restart(config)
                await eventually(partial(causes, lines))
            assert set(causes(lines)) == {code}
            found = trouble_of(await refused(mine))
            assert found is not None
            assert found.code == code
        await server.restart(right)
        await eventually(lambda: connection.is_connected)
        await connection.flush(5)


@pytest.mark.sibling_of("BUS-08")
async def test_an_account_with_no_connection_left_is_named(
    tmp_path: Path, opened: list[Client]
) -> None:
    limit = "limits: { max_connections: 1 }"
    async with ConfiguredServer(tmp_path, account(tmp_path, "enabled", limit)) as server:
        opened.append(await connect(settings(server)))
        assert "raise max_connections" in await refused(settings(server))
        with pytest.raises(Temporary, match="raise max_connections"):
            async with outside.connect(server.url_of("muster", "right"), wait=1.0):
                pass


@pytest.mark.sibling_of("BUS-08")
async def test_what_an_account_has_no_room_for_is_not_given_up(
    tmp_path: Path, opened: list[Client]
) -> None:
    """The server's code for it is 400, as for a message that is wrong for ever."""
    async with ConfiguredServer(tmp_path, account(tmp_path, "{max_file: 200K}")) as server:
        connection = await connect(settings(server))
        opened.append(connection)
        few = [spec for spec in STREAMS if spec.name in {Stream.EVENTS, Stream.ANSWERS}]
        await provision(connection, streams=few)
        await _fill(connection)
        log, job = JetStreamLog(connection, patience_s=0.3), Job()
        event = job.submitted()
        with pytest.raises(UnknownOutcome, match="storage is used up"):
            await log.append(event, nothing(job.key))
        with pytest.raises(Temporary, match="raise the account's JetStream storage"):
            await publish_stored(connection, "answers.t.b", BODY, id="b", patience=0.1)
        server.reload(account(tmp_path, "{max_file: 2M}"))
        await eventually(partial(_written, connection, "b"))
        assert (await log.append(event, nothing(job.key))).event == event
        await log.close()


async def _fill(connection: Client) -> None:
    for number in range(300):
        if not await _written(connection, f"r{number}"):
            return
    raise AssertionError("the account took more than it may")


async def _written(connection: Client, name: str) -> bool:
    try:
        await publish_stored(connection, f"answers.t.{name}", BODY, id=name, patience=0.1)
    except Temporary:
        return False
    return True


@pytest.mark.sibling_of("BUS-08")
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ("{max_streams: 3}", "streams_limit"),
        ("{max_consumers: 2}", "consumers_limit"),
        ("{max_file: 10M}", "storage_limit"),
    ],
)
async def test_an_account_that_is_too_small_is_named_at_once(
    tmp_path: Path, opened: list[Client], limits: str, code: str
) -> None:
    async with ConfiguredServer(tmp_path, account(tmp_path, limits)) as server:
        connection = await connect(settings(server))
        opened.append(connection)
        with pytest.raises(Permanent) as refusal:
            await provision(connection)
    found = trouble_of(str(refusal.value))
    assert found is not None
    assert found.code == code
    assert found.remedy[0] in str(refusal.value)


def test_every_cause_is_told_in_both_languages_and_by_signs_of_its_own() -> None:
    signs = [sign for trouble in TROUBLES for sign in trouble.signs]
    assert len(signs) == len(set(signs))
    for trouble in TROUBLES:
        for english, chinese in (trouble.cause, trouble.remedy):
            assert english.isascii()
            assert not chinese.isascii()
        for sign in trouble.signs:
            assert trouble_of(f"Error: {sign.upper()} at 1") is trouble


@pytest.mark.parametrize("words", ["no answer in time", "code 400", "wrong last sequence: 10002"])
def test_other_words_mean_nothing(words: str) -> None:
    assert (trouble_of(words), told(words), explained(words)) == (None, {}, words)


def test_a_cause_is_put_behind_an_error_once() -> None:
    once = explained("resource limits exceeded for account (10002)")
    assert explained(f"EVENTS: {once}") == f"EVENTS: {once}"
    found = trouble_of(once)
    assert found is not None
    assert found.bare(once) == "resource limits exceeded for account (10002)"
