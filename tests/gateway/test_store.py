"""The archive's statements mean on SQLite and on PostgreSQL what the pure filters mean."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from muster.contracts.events import Event
from muster.domain.errors import Temporary
from muster.domain.phases import Phase
from muster.gateway.core.filters import JobFilter, Place, place_of
from muster.gateway.service import MIGRATIONS
from muster.gateway.store import export, search, writing
from muster.gateway.store.tables import events, jobs, labels, metadata
from muster.gateway.store.writing import Stored
from muster.runtime.database import Database, migrate, open_engine
from tests.gateway.worlds import TENANT, World, opened, rows, sqlite_url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        url = sqlite_url(tmp_path)
    else:
        url = request.getfixturevalue("postgres_url")
    with opened(url) as database:
        yield database


def put_all(world: World, database: Database) -> None:
    for stored in everything(world):
        with database.engine.begin() as connection:
            writing.put(connection, stored)


def everything(world: World) -> list[Stored]:
    return [
        Stored(entry.seq, entry.at, entry.event, entry.body)
        for entry in world.store.entries
        if entry.event is not None
    ]


async def many(world: World) -> None:
    """Jobs of two tenants, users, pools; with labels; most of them ended."""
    await world.ended("j1", labels={"team": "vision", "run": "a=b"})
    await world.ended("j2", labels={"team": "vision"}, user="bob")
    await world.ended("j3", tenant="zoo", pool="west")
    await world.ended("j4", labels={"team": "speech", "名称": "实验 1"}, pool="west")
    await world.running("j5", labels={"team": "vision"})


FILTERS = [
    JobFilter(),
    JobFilter(tenant="acme"),
    JobFilter(tenant="nobody"),
    JobFilter(user="bob"),
    JobFilter(pool="west"),
    JobFilter(phases=frozenset({Phase.SUCCEEDED})),
    JobFilter(phases=frozenset({Phase.FAILED, Phase.STOPPED})),
    JobFilter(labels=("team=vision",)),
    JobFilter(labels=("team=vision", "run=a=b")),
    JobFilter(labels=("team",)),
    JobFilter(labels=("team", "run")),
    JobFilter(labels=("名称=实验 1",)),
    JobFilter(labels=("team=",)),
    JobFilter(labels=("vision",)),
    JobFilter(tenant="acme", user="ann", pool="west", labels=("team=speech",)),
]


async def test_a_filter_finds_what_it_means(database: Database) -> None:
    world = World()
    await many(world)
    put_all(world, database)
    with database.engine.connect() as connection:
        states = [search.job(connection, row.tenant, row.job) for row in every_job(connection)]
        ended = [seen for seen in states if seen is not None and seen.state.terminal]
        assert len(ended) == 4
        for wanted in FILTERS:
            meant = [seen for seen in ended if wanted.matches(seen.state)]
            by_place = sorted(meant, key=lambda seen: place_of(seen.state), reverse=True)
            assert search.find_ended(connection, wanted, None, 100) == by_place, wanted
            by_seq = sorted(meant, key=lambda seen: seen.seq)
            assert search.find_changed(connection, wanted, None, 0, 100) == by_seq, wanted


def every_job(connection: sa.Connection) -> list[sa.Row[str, str]]:
    return list(connection.execute(sa.select(jobs.c.tenant, jobs.c.job)))


async def test_pages_follow_each_other_without_gap_or_double(database: Database) -> None:
    world = World()
    for number in range(7):
        await world.ended(f"j{number}")
    put_all(world, database)
    found, before = [], None
    with database.engine.connect() as connection:
        while page := search.find_ended(connection, JobFilter(), before, 2):
            found += [seen.state.job for seen in page]
            before = place_of(page[-1].state)
    assert found == [f"j{number}" for number in reversed(range(7))]


async def test_jobs_of_one_instant_are_told_apart_by_name(database: Database) -> None:
    world = World()
    for job in ("a", "b", "c"):
        await world.ended(job)
    put_all(world, database)
    with database.engine.begin() as connection:
        instant = connection.scalar(sa.select(sa.func.max(jobs.c.submitted_at)))
        connection.execute(sa.update(jobs).values(submitted_at=instant))
        place = Place(instant, TENANT, "c")
        page = search.find_ended(connection, JobFilter(), place, 10)
    assert [seen.state.job for seen in page] == ["b", "a"]


async def test_a_late_older_event_does_not_undo_a_state(database: Database) -> None:
    world = World()
    await world.ended("j1", labels={"old": "label"})
    await world.relabelled("j1", {"new": "label"})
    for stored in reversed(everything(world)):
        with database.engine.begin() as connection:
            writing.put(connection, stored)
    (row,) = rows(database, jobs)
    assert (row["version"], row["phase"]) == (8, "succeeded")
    assert {row["text"] for row in rows(database, labels)} == {"new", "new=label"}


async def test_an_event_told_twice_is_kept_once(database: Database) -> None:
    world = World()
    await world.queued("j1")
    first = everything(world)[0]
    with database.engine.begin() as connection:
        assert writing.put(connection, first)
    with database.engine.begin() as connection:
        assert not writing.put(connection, first)
    assert len(rows(database, events)) == 1


async def test_another_event_on_a_known_sequence_is_another_log(database: Database) -> None:
    world = World()
    await world.queued("j1")
    first, second = everything(world)
    put_all(world, database)
    strange = Stored(first.seq, first.recorded_at, _named(second, "strange"), second.body)
    with (
        pytest.raises(writing.AnotherLog),
        database.engine.begin() as connection,
    ):
        writing.put(connection, strange)


def _named(stored: Stored, name: str) -> Event:
    event: Event = stored.event.model_copy(update={"id": name})
    return event


async def test_replicas_that_write_at_once_agree(database: Database) -> None:
    world = World()
    await many(world)
    for number in range(6):
        await world.relabelled("j1", {"n": str(number)})
    together = threading.Barrier(4)

    def work(seed: int) -> None:
        together.wait()
        told = everything(world)
        for stored in told[seed:] + told[:seed]:
            database._run(partial(writing.put, stored=stored))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (0, 7, 15, 25)))
    assert len(rows(database, events)) == len(world.store.entries)
    with database.engine.connect() as connection:
        assert list(export.check(connection)) == []
        seen = search.job(connection, TENANT, "j1")
    assert seen is not None
    assert seen.state.labels == {"n": "5"}
    mine = [row["text"] for row in rows(database, labels) if row["job"] == "j1"]
    assert sorted(mine) == ["n", "n=5"]


async def test_a_nul_in_a_name_does_not_stop_the_archive(database: Database) -> None:
    world = World()
    await world.ended("j1", user="ann\x00", labels={"a\x00": "b"})
    put_all(world, database)
    with database.engine.connect() as connection:
        seen = search.job(connection, TENANT, "j1")
    assert seen is not None
    assert seen.state.user == "ann\x00"


async def test_an_export_has_every_event_in_the_logs_order(database: Database) -> None:
    world = World()
    await world.joined("n1")
    await many(world)
    for stored in reversed(everything(world)):
        with database.engine.begin() as connection:
            writing.put(connection, stored)
    out = io.StringIO()
    with database.engine.connect() as connection:
        count = export.export(connection, out)
        assert export.gaps(connection) == []
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["seq"], line["subject"], line["body"].encode()) for line in lines] == [
        (entry.seq, entry.subject, entry.body) for entry in world.store.entries
    ]
    assert count == len(lines)


async def test_folding_the_archive_gives_its_states(database: Database) -> None:
    world = World()
    await many(world)
    put_all(world, database)
    with database.engine.begin() as connection:
        assert list(export.check(connection)) == []
        connection.execute(sa.delete(events).where(events.c.job == "j1", events.c.version == 4))
        connection.execute(sa.delete(events).where(events.c.job == "j2"))
        connection.execute(sa.delete(jobs).where(jobs.c.job == "j3"))
        found = {difference.job: difference.why for difference in export.check(connection)}
    assert set(found) == {"j1", "j2", "j3"}


async def test_gaps_name_the_ranges_that_are_not_there(database: Database) -> None:
    world = World()
    await world.ended("j1")
    put_all(world, database)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(events).where(events.c.seq.in_([1, 4, 5])))
        assert export.gaps(connection) == [(1, 1), (4, 5)]


def test_the_migrations_make_the_tables_of_the_code(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": "alembic_version_gateway", "compare_type": True}
        )
        assert compare_metadata(context, metadata) == []


def test_migrating_twice_changes_nothing(database: Database) -> None:
    migrate(database.engine, MIGRATIONS, "gateway")


@pytest.mark.postgres
def test_replicas_may_migrate_at_once(postgres_url: str) -> None:
    program = (
        "import sys; from pathlib import Path;"
        " from muster.runtime.database import migrate, open_engine;"
        " migrate(open_engine(sys.argv[1]), Path(sys.argv[2]), 'gateway')"
    )
    command = [sys.executable, "-c", program, postgres_url, str(MIGRATIONS)]
    replicas = [subprocess.Popen(command) for _ in range(3)]
    assert [replica.wait(60) for replica in replicas] == [0, 0, 0]


def test_the_probe_writes_and_leaves_nothing(database: Database) -> None:
    with database.engine.begin() as connection:
        writing.probe(connection)
    assert rows(database, labels) == []


def test_an_archive_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with opened(sqlite_url(tmp_path)) as database:
        readonly = open_engine(f"sqlite:///file:{tmp_path}/gateway.db?mode=ro&uri=true")
        with pytest.raises(Temporary):
            Database(readonly, threaded=False)._run(writing.probe)
        readonly.dispose()
        assert rows(database, labels) == []


@pytest.mark.postgres
def test_a_standby_that_only_reads_is_waited_for(postgres_url: str) -> None:
    with opened(postgres_url) as database:
        with database.engine.connect() as connection:
            name = connection.scalar(sa.text("SELECT current_database()"))
            setting = f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'
            connection.execute(sa.text(setting))
            connection.commit()
        database.engine.dispose()
        with pytest.raises(Temporary):
            database._run(writing.probe)
