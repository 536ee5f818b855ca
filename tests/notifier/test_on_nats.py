"""The notifier as production runs it: real NATS, two hosts, a rules file, a bot over HTTP."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import nats
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from muster.bus import topology
from muster.contracts import subjects
from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.state import JobState
from muster.log import Basis
from muster.log.jetstream import JetStreamLog
from muster.notifier import store
from muster.notifier.sandbox import HOOK, Receiver, new_token, serving
from muster.notifier.service import build
from muster.notifier.settings import NotifierSettings
from muster.runtime.database import open_engine
from muster.runtime.host import Host
from muster.runtime.ids import new_id
from muster.runtime.ports import LOOPBACK, free_port
from muster.runtime.service import Runtime, Service
from muster.runtime.settings import HostSettings
from tests.notifier.lives import submitted
from tests.support.eventually import eventually
from tests.support.leaks import KEY, TOKEN

LIFE: tuple[f.Fact, ...] = (
    f.Admitted(),
    f.Scheduled(placement={"n0": ("worker-0", "worker-1")}),
    f.Launching(attempt=1),
    f.Started(attempt=1),
    f.Succeeded(attempt=1),
)
RULES = """
addresses:
  ops: {webhook: {env: OPS_HOOK}, secret: {file: %s}}
  away: {webhook: {env: AWAY_HOOK}}
rules:
  - {id: away, tenant: acme, scope: tenant, trigger: job_queued, address: away}
  - {id: queued, tenant: acme, scope: tenant, trigger: job_queued, address: ops}
  - {id: running, tenant: acme, scope: {me: alice}, trigger: job_running, address: ops}
  - {id: done, tenant: acme, scope: tenant, trigger: job_succeeded, language: en, address: ops}
"""


@asynccontextmanager
async def hosts(
    url: str, folder: Path, database: str | None, settings: NotifierSettings
) -> AsyncIterator[None]:
    """Two replicas of the notifier over one log and one database."""

    def replica(runtime: Runtime) -> Service:
        return build(runtime, settings)

    host = HostSettings(
        nats_url=SecretStr(url),
        state_dir=folder,
        database_url=SecretStr(database) if database else None,
    )
    async with AsyncExitStack() as stack:
        for number in range(2):
            replica_host = Host(host, [(Owner.NOTIFIER, replica)])
            await replica_host.start(provisioned=number > 0)
            stack.push_async_callback(replica_host.stop)
        yield


async def live(url: str, job: str) -> None:
    """Write one job's life into the log, as the services would."""
    connection = await nats.connect(url)
    log = JetStreamLog(connection)
    key, seq = subjects.job_key("acme", job), 0
    state: JobState | None = None
    first = f.Submitted.model_validate(_submission(job))
    for fact in (first, *LIFE):
        now = await log.now()
        state = evolve(state, fact, now)
        event = job_event(state, fact, event_id=new_id(), source="muster/test", at=now)
        seq = (await log.append(event, Basis(key, seq))).seq
    await connection.close()


def _submission(job: str) -> dict[str, object]:
    life = submitted(job=job)
    return {
        "tenant": "acme",
        "job": job,
        "user": "alice",
        "pool": "default",
        "request": "r1",
        "digest": "d",
        "spec": life.spec,
        "demand": life.state.demand,
    }


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> str | None:
    """The URL of the replicas' database; None: the runtime's own SQLite file."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], NotifierSettings]:
    """Make the settings for a bot at an origin, with its token."""

    def make(origin: str, token: str) -> NotifierSettings:
        nobody = f"http://{LOOPBACK}:{free_port()}"
        monkeypatch.setenv("OPS_HOOK", f"{origin}{HOOK}{token}")
        monkeypatch.setenv("AWAY_HOOK", f"{nobody}{HOOK}t2")
        (tmp_path / "given-secret").write_text(f"{KEY}\n", encoding="utf-8")
        (tmp_path / "rules.yaml").write_text(RULES % (tmp_path / "given-secret"), encoding="utf-8")
        return NotifierSettings(
            rules_file=tmp_path / "rules.yaml",
            extra_addresses=(origin, nobody),
            group_wait_s=0.5,
            group_interval_s=1.0,
            quiet_half_hours=False,
        )

    return make


async def test_a_job_is_told_card_by_card(
    clean_nats_url: str,
    tmp_path: Path,
    database: str | None,
    settings: Callable[[str, str], NotifierSettings],
) -> None:
    token = f"{TOKEN}{new_token()}"
    bot = Receiver({token: KEY}, clock=time.time)
    bot.refuse_next.append((11232, "frequency limited"))
    async with (
        serving(bot) as origin,
        hosts(clean_nats_url, tmp_path, database, settings(origin, token)),
    ):
        for job in ("j1", "j2"):
            await live(clean_nats_url, job)
        await eventually(lambda: len(bot.received) >= 6)
    titles = sorted(message.title.partition(" · ")[0] for message in bot.received)
    assert titles == ["succeeded", "succeeded", "排队中", "排队中", "运行中", "运行中"]


async def test_a_bot_that_is_away_holds_no_message_and_delays_no_other(
    clean_nats_url: str,
    tmp_path: Path,
    database: str | None,
    settings: Callable[[str, str], NotifierSettings],
) -> None:
    token = f"{TOKEN}{new_token()}"
    bot = Receiver({token: KEY}, clock=time.time)
    jobs = [f"j{number}" for number in range(3 * topology.NOTIFIER_JOBS.in_flight)]
    async with (
        serving(bot) as origin,
        hosts(clean_nats_url, tmp_path, database, settings(origin, token)),
        AsyncExitStack() as stack,
    ):
        connection = await nats.connect(clean_nats_url)
        stack.push_async_callback(connection.close)
        stream = connection.jetstream()
        for job in jobs:
            await live(clean_nats_url, job)

        async def all_done() -> bool:
            info = await stream.consumer_info("EVENTS", topology.NOTIFIER_JOBS.durable)
            return not info.num_ack_pending and not info.num_pending

        await eventually(all_done)
        await eventually(lambda: pending(database, tmp_path) == {("away", len(jobs))}, within=60)
    told = sum(max(1, message.text.count("alice")) for message in bot.received)  # a line, or a card
    assert told >= 3 * len(jobs)
    assert len(bot.received) < len(jobs), "a burst comes as digests, a line for each"


def pending(database: str | None, folder: Path) -> set[tuple[str, int]]:
    """How many notices wait for each address."""
    engine = open_engine(database or f"sqlite:///{folder / 'notifier.db'}")
    table = store.deliveries.c
    query = sa.select(table.address, sa.func.count()).where(table.settled_at.is_(None))
    with engine.connect() as reading:
        found = {
            (str(name), int(count)) for name, count in reading.execute(query.group_by("address"))
        }
    engine.dispose()
    return found
