"""Use as the archive tells it: what the pure code says of the same events, on both databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa
from alembic import command as alembic
from alembic.config import Config

from muster.contracts.events import job_event
from muster.domain.demand import ResourceClass
from muster.domain.edges import Owner
from muster.domain.metering import Moment, intervals, summed
from muster.domain.nodes import NodeChanged, NodeShape
from muster.domain.spec import ResourceSpec
from muster.gateway.core.filters import JobFilter
from muster.gateway.core.usage import Usage, UsageAsked
from muster.gateway.service import MIGRATIONS
from muster.gateway.store import metering, writing
from muster.gateway.store.tables import meter, models, placements
from muster.gateway.store.usage import usage
from muster.gateway.store.writing import Stored
from muster.runtime.database import Database
from tests.domain.walks import walk
from tests.gateway.test_store import put_all
from tests.gateway.worlds import World, opened, sqlite_url
from tests.support.lives import START

UNTIL = START + timedelta(days=2)
PROJECTED = (meter, placements, models)
BY: tuple[tuple[str, ...], ...] = (
    (),
    ("tenant",),
    ("user", "phase"),
    ("class", "pool"),
    ("model",),
    ("model", "phase", "label:team"),
    ("job",),
    ("label:团队",),
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        url = sqlite_url(tmp_path)
    else:
        url = request.getfixturevalue("postgres_url")
    with opened(url) as database:
        yield database


@dataclass(frozen=True)
class Told:
    """Random lives of several jobs, as events of one log."""

    stored: tuple[Stored, ...]

    def expected(self, by: tuple[str, ...], since: datetime | None, until: datetime) -> object:
        own: dict[str, list[Moment]] = {}
        for one in self.stored:
            assert one.state is not None
            own.setdefault(one.state.job, []).append((one.state, one.event.time))
        lives = [(told[-1][0], intervals(told, until, since=since)) for told in own.values()]
        return summed(lives, by)


def lives(seed: int, count: int = 12) -> Told:
    rng, found, seq = Random(seed), [], 0
    waiting = []
    for number in range(count):
        tenant = rng.choice(["acme", "zoo"])
        named = {"tenant": tenant, "job": f"j{number}", "user": rng.choice(["ann", "bob"])}
        waiting.append([(step, named) for step in walk(rng.randrange(2**32), 30)])
    while waiting:
        life = rng.choice(waiting)
        step, named = life.pop(0)
        if not life:
            waiting.remove(life)
        seq += 1
        event = job_event(
            step.after.model_copy(update=named),
            step.fact.model_copy(update=named if step.before is None else {}),
            event_id=f"e{seq}",
            source="muster/test",
            at=step.at,
        )
        found.append(Stored(seq, step.at, event, event.to_bytes()))
    return Told(tuple(found))


def keep(database: Database, stored: Sequence[Stored]) -> None:
    with database.engine.begin() as connection:
        for one in stored:
            writing.put(connection, one)


def ask(database: Database, **how: object) -> Usage:
    asked = UsageAsked(**{"wanted": JobFilter(), "until": UNTIL, **how})  # type: ignore[arg-type]
    with database.engine.connect() as connection:
        return usage(connection, asked)


@pytest.mark.parametrize("seed", range(4))
def test_statements_mean_what_the_pure_code_means(database: Database, seed: int) -> None:
    told = lives(seed)
    keep(database, told.stored)
    middle = told.stored[len(told.stored) // 2].event.time
    for by in BY:
        for since, until in ((None, UNTIL), (middle, UNTIL), (None, middle), (middle, middle)):
            found = ask(database, by=by, since=since, until=until)
            assert dict(found.rows) == told.expected(by, since, until), (by, since, until)
            if found.rows and "model" not in by:
                assert found.total == next(iter(told.expected((), since, until).values()))  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
def test_doubled_shuffled_and_split_the_rows_are_the_same(tmp_path: Path, seed: int) -> None:
    told, rng = lives(seed), Random(seed)
    cut = rng.randrange(len(told.stored))
    mixed = [*told.stored, *rng.sample(told.stored, len(told.stored) // 2)]
    rng.shuffle(mixed)
    orders = (told.stored, [*told.stored[:cut], *told.stored[cut // 2 :]], mixed)
    found = []
    for number, order in enumerate(orders):
        with opened(f"sqlite:///{tmp_path / str(number)}.db") as database:
            if number == 1:
                keep(database, order[:cut])
                keep(database, order[cut:])
            else:
                keep(database, order)
            found.append([set(map(tuple, all_of(database, table))) for table in PROJECTED])
    assert found[0] == found[1] == found[2]


def all_of(database: Database, table: sa.Table) -> list[sa.Row[object]]:
    with database.engine.connect() as connection:
        return list(connection.execute(sa.select(table)))


async def filled(world: World) -> None:
    await world.joined("n1")
    await world.ended("j1", labels={"team": "vision"})
    await world.running("j2", labels={"team": "speech", "team=x": "y"}, pool="west")
    await world.sharing("j3", "n1", 250, 1)


async def test_the_projection_is_made_again_from_the_events(database: Database) -> None:
    world = World()
    await filled(world)
    put_all(world, database)
    before = [all_of(database, table) for table in PROJECTED]
    with database.engine.begin() as connection:
        metering.rebuild(connection)
    assert (ask(database).whole, ask(database).rows) == (False, ())
    turns = 0
    while _turn(database):
        turns += 1
    assert turns > 1
    assert ask(database).whole
    after = [all_of(database, table) for table in PROJECTED]
    assert [set(map(tuple, each)) for each in after] == [set(map(tuple, each)) for each in before]


def _turn(database: Database) -> bool:
    with database.engine.begin() as connection:
        return metering.catch_up(connection, limit=3)


async def test_what_an_older_version_archived_is_metered_with_its_end(database: Database) -> None:
    world = World()
    await filled(world)
    put_all(world, database)
    before = all_of(database, meter)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(meter).where(meter.c.version > 2))
        assert not metering.catch_up(connection)
        for job in ("j1", "j2", "j3"):
            metering.heal(connection, "acme", job)
    assert set(map(tuple, all_of(database, meter))) == set(map(tuple, before))


async def test_gpus_stand_under_the_model_that_a_node_had_then(database: Database) -> None:
    world = World()
    await world.joined("n1")
    await world.ended("j1", gpus=2)
    shape = NodeShape(gpus=8, gpu_model="H100", cpus=64, memory_mib=1, spot=True)
    await world._node(Owner.EXECUTOR, "n1", "default", NodeChanged(shape=shape))
    await world.running("j2", gpus=2)
    put_all(world, database)
    found = ask(database, by=("job", "model"), until=world.clock.now() + timedelta(seconds=100))
    held = {key: used.gpu_seconds for key, used in found.rows if used.gpu_seconds}
    assert held == {
        ("acme/j1", "A100"): 8.0,
        ("acme/j1", "?"): 8.0,
        ("acme/j2", "H100"): 204.0,
        ("acme/j2", "?"): 204.0,
    }
    assert all(used.gpu_seconds == 0 for (_, model), used in found.rows if model == "")


async def test_filters_choose_jobs_by_what_they_are(database: Database) -> None:
    world = World()
    await filled(world)
    put_all(world, database)
    now = world.clock.now() + timedelta(hours=1)

    def asked(wanted: JobFilter) -> list[str]:
        return sorted(
            key[0] for key, _ in ask(database, wanted=wanted, by=("job",), until=now).rows
        )

    assert asked(JobFilter(labels=("team=vision",))) == ["acme/j1"]
    assert asked(JobFilter(labels=("team",))) == ["acme/j1", "acme/j2"]
    assert asked(JobFilter(pool="west")) == ["acme/j2"]
    assert asked(JobFilter(tenant="zoo")) == []
    labelled = ask(database, by=("label:team",), until=now).rows
    assert {key[0] for key, _ in labelled} == {"vision", "speech", ""}


async def test_rows_beyond_the_limit_are_counted_and_in_the_total(database: Database) -> None:
    world = World()
    await filled(world)
    put_all(world, database)
    now = world.clock.now() + timedelta(hours=1)
    few, every = (ask(database, by=("job",), until=now, limit=n) for n in (1, 10))
    assert (len(few.rows), few.groups, few.total) == (1, 3, every.total)
    assert few.rows[0] == every.rows[0]
    charges = [used.charge for _, used in every.rows]
    assert charges == sorted(charges, reverse=True)
    assert few.position == world.store.entries[-1].seq


async def test_a_job_whose_history_has_a_gap_is_told(database: Database) -> None:
    world = World()
    await world.ended("j1")
    put_all(world, database)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(meter).where(meter.c.version == 4))
    assert ask(database, until=world.clock.now()).gaps == 1


async def test_very_large_sums_stay_exact(database: Database) -> None:
    world = World()
    resource = ResourceSpec(type=ResourceClass.SPOT, replicas=2, gpus_per_replica=8)
    await world.running("j1", resource=resource)
    put_all(world, database)
    with database.engine.begin() as connection:
        connection.execute(sa.update(meter).where(meter.c.milli > 0).values(milli=80_000_001))
    century = timedelta(days=36_500, microseconds=7)
    found = ask(database, until=world.clock.now() + century).total
    micros = century // timedelta(microseconds=1) + 2_000_000
    assert found.charge == 80_000_001 * micros


async def test_an_archive_of_before_is_metered_after_its_migration(database: Database) -> None:
    world = World()
    await filled(world)
    put_all(world, database)
    before = [all_of(database, table) for table in PROJECTED]
    for revision in ("0001", "head"):
        with database.engine.begin() as connection:
            _migrate(connection, revision)
    assert not ask(database).whole
    while _turn(database):
        pass
    after = [all_of(database, table) for table in PROJECTED]
    assert [set(map(tuple, each)) for each in after] == [set(map(tuple, each)) for each in before]


def _migrate(connection: sa.Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["version_table"] = "alembic_version_gateway"
    config.attributes["connection"] = connection
    if revision == "head":
        alembic.upgrade(config, revision)
    else:
        alembic.downgrade(config, revision)
