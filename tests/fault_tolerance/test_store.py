"""The store of failures, on every database that the product runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection, Engine

from muster.domain import facts as f
from muster.domain.diagnosis import Blame
from muster.domain.phases import Phase
from muster.fault_tolerance import store
from muster.fault_tolerance.core.attributed import Attributed, Machine, Mark, Shared
from muster.fault_tolerance.service import MIGRATIONS
from muster.fault_tolerance.store import tables
from muster.runtime.database import migrate
from tests.support.lives import Life

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
NFS, OTHER = Mark(Shared.STORAGE, "nfs-1"), Mark(Shared.STORAGE, "nfs-2")
ZONE = Mark(Shared.ZONE, "a")
SICK, FINE = Machine("n1", "SN-1"), Machine("n2")


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


Run = Callable[[Callable[[Connection], Any]], Any]


def failed(job: str = "j1", **values: Any) -> Attributed:
    """A failure of hardware on n1."""
    base = Attributed(
        tenant="acme",
        job=job,
        attempt=1,
        user="alice",
        pool="default",
        at=NOW,
        rule="gpu.lost",
        blame=Blame.HARDWARE,
        fingerprint="f1",
        stage="train",
        nodes=("n1", "n2"),
        machines=(SICK,),
        marks=(NFS, ZONE),
    )
    return replace(base, **values)


def keep(run: Run, *failures: Attributed) -> list[bool]:
    return [run(partial(store.record, failure=failure)) for failure in failures]


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        options = {"version_table": "alembic_version_fault-tolerance"}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, store.metadata) == []
        assert context.get_current_revision() == "0001"


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    migrate(engine, MIGRATIONS, "fault-tolerance")


def test_an_attempt_is_kept_once(run: Run) -> None:
    assert keep(run, failed(), failed(user="bob"), failed(attempt=2)) == [True, False, True]
    query = sa.select(tables.failures.c.user).where(tables.failures.c.attempt == 1)
    assert run(lambda conn: conn.execute(query).scalar_one()) == "alice"


def test_a_node_is_known_by_other_jobs_failures(run: Run) -> None:
    keep(
        run,
        failed("j1", at=NOW - timedelta(minutes=2)),
        failed("j2", user="bob", rule=None, at=NOW - timedelta(minutes=1)),
        failed("j3", tenant="other"),
        failed("mine"),
        failed("else", machines=(Machine("n2", "SN-2"),)),
    )
    asked = (SICK, Machine("n3"))
    sick, unknown = run(
        partial(
            store.records,
            pool="default",
            machines=asked,
            now=NOW,
            besides=("acme", "mine"),
            suspected={"n1"},
        )
    )
    assert (sick.node, sick.users, sick.jobs, sick.suspected) == ("n1", 3, 3, True)
    assert [rule for rule, _ in sick.last] == ["gpu.lost", "unknown", "gpu.lost"]
    assert sick.last[0][1] == NOW
    assert (unknown.node, unknown.users, unknown.jobs, unknown.suspected) == ("n3", 0, 0, False)


@pytest.mark.parametrize(
    ("asked", "jobs"),
    [
        pytest.param(Machine("renamed", "SN-1"), 1, id="the same machine under another name"),
        pytest.param(Machine("n1", "SN-9"), 0, id="another machine under the same name"),
        pytest.param(Machine("n1"), 0, id="nobody knows which machine"),
    ],
)
def test_a_machines_history_follows_its_serial(run: Run, asked: Machine, jobs: int) -> None:
    keep(run, failed())
    (found,) = run(partial(store.records, pool="default", machines=(asked,), now=NOW))
    assert found.jobs == jobs


@pytest.mark.parametrize(("age", "jobs"), [(timedelta(days=28), 0), (timedelta(days=27.99), 1)])
def test_what_is_older_than_the_window_does_not_count(run: Run, age: timedelta, jobs: int) -> None:
    keep(run, failed(at=NOW - age))
    (found,) = run(partial(store.records, pool="default", machines=(SICK,), now=NOW))
    assert found.jobs == jobs


def look(run: Run, **values: Any) -> Any:
    asked = {"failure": ("acme", "mine"), "marks": (NFS, ZONE), "now": NOW, **values}
    return run(partial(store.elsewhere, **asked))


def test_jobs_that_failed_on_the_same_storage_are_counted(run: Run) -> None:
    keep(
        run,
        failed("j1", blame=Blame.STORAGE),
        failed("j2", blame=Blame.STORAGE, user="bob"),
        failed("j2", attempt=2, blame=Blame.STORAGE, user="bob"),
        failed("j3", blame=Blame.STORAGE, marks=(OTHER,)),
        failed("j4", blame=Blame.USER),
        failed("mine", blame=Blame.STORAGE),
    )
    found = look(run, marks=(NFS,), incident="storage-nfs-1")
    assert (found.jobs, found.users) == (2, 2)
    assert found.shared == "storage nfs-1"
    assert found.incident == "storage-nfs-1"


@pytest.mark.parametrize(("age_s", "jobs"), [(299, 1), (300, 0)])
def test_only_the_last_minutes_count_as_together(run: Run, age_s: int, jobs: int) -> None:
    keep(run, failed(blame=Blame.STORAGE, at=NOW - timedelta(seconds=age_s)))
    assert look(run).jobs == jobs


def test_the_same_rule_or_fingerprint_counts_whatever_it_stands_on(run: Run) -> None:
    keep(
        run,
        failed("j1", rule="storage.stale", fingerprint="x", marks=(OTHER,)),
        failed("j2", rule=None, fingerprint="f9", marks=()),
        failed("j3", rule="other", fingerprint="y"),
    )
    assert look(run, rule="storage.stale", fingerprint="f9").jobs == 2
    assert look(run, rule="storage.stale").jobs == 1
    assert look(run, fingerprint="f9").jobs == 1
    assert look(run, fingerprint="f9").shared == ""


def test_nothing_elsewhere_is_nothing(run: Run) -> None:
    found = look(run, marks=())
    assert (found.jobs, found.users, found.shared, found.incident) == (0, 0, "", None)


def test_what_is_old_is_forgotten(run: Run) -> None:
    keep(run, failed(at=NOW - timedelta(days=36)), failed("j2", at=NOW - timedelta(days=34)))
    stay = ("acme", "j9", 1)
    run(lambda c: store.launched(c, stay, "default", (SICK,), NOW - timedelta(days=36)))
    gone = run(partial(store.forget, now=NOW))
    assert gone == 1 + 1 + 2 + 1
    left = run(lambda conn: conn.execute(sa.select(tables.failures.c.job)).scalars().all())
    assert left == ["j2"]


def test_a_launch_is_kept_once(run: Run) -> None:
    stay = ("acme", "j1", 1)
    for _ in range(2):
        run(lambda c: store.launched(c, stay, "default", (SICK, Machine("n2")), NOW))
    count = sa.select(sa.func.count()).select_from(tables.stays)
    assert run(lambda conn: conn.execute(count).scalar_one()) == 2


def test_text_that_no_database_takes_is_kept_without_it(run: Run) -> None:
    assert keep(run, failed(excerpt="训练\x00 ok")) == [True]
    query = sa.select(tables.failures.c.excerpt)
    assert run(lambda conn: conn.execute(query).scalar_one()) == "训练 ok"


def test_machines_have_their_failures_and_attempts(run: Run) -> None:
    keep(run, failed("j1"), failed("j2", user="bob", hard=True), failed("j0", at=ago(days=28)))
    for day in range(3):
        stay = ("acme", f"j{day}", 1)
        launched = partial(store.launched, attempt=stay, pool="default", at=ago(days=day))
        run(partial(launched, machines=(SICK, FINE)))
    run(lambda c: store.launched(c, ("acme", "old", 1), "default", (FINE,), ago(days=28)))
    found = run(partial(store.histories, now=NOW))
    faults, stays = found["serial:SN-1"]
    assert {(fault.job, fault.user, fault.hard) for fault in faults} == {
        (("acme", "j1"), ("acme", "alice"), False),
        (("acme", "j2"), ("acme", "bob"), True),
    }
    assert sum(count for _, count in stays) == 3
    assert found["name:default/n2"][0] == ()
    assert sum(count for _, count in found["name:default/n2"][1]) == 3
    assert all(at <= NOW for at, _ in stays)


def test_the_last_minutes_come_back_with_what_they_stood_on(run: Run) -> None:
    old, new = failed("j1", at=ago(minutes=9)), failed("j2", at=ago(minutes=1))
    keep(run, old, new)
    (found,) = run(partial(store.recent, since=ago(minutes=5)))
    assert found == replace(new, machines=())


def test_something_was_kept_since_the_watermark(run: Run) -> None:
    first = run(store.watermark)
    keep(run, failed("j1"))
    second = run(store.watermark)
    keep(run, failed("j1"))
    assert first != second == run(store.watermark)


def test_unknown_failures_are_gathered_by_fingerprint(run: Run) -> None:
    unknown = {"rule": None, "fingerprint": "f9"}
    keep(
        run,
        failed("j1", **unknown, excerpt="old", at=ago(hours=3)),
        failed("j1", attempt=2, **unknown, nodes=("n7",), at=ago(hours=2)),
        failed("j2", **unknown, user="bob", excerpt="new", at=ago(hours=1)),
        failed("j3", rule=None, fingerprint="f1"),
        failed("j4"),
    )
    first, second = run(partial(store.clusters, limit=10))
    assert (first.fingerprint, first.failures, first.jobs, first.users) == ("f9", 3, 2, 2)
    assert (first.first_at, first.last_at) == (ago(hours=3), ago(hours=1))
    assert (first.nodes, first.excerpt) == (("n1", "n2", "n7"), "new")
    assert second.fingerprint == "f1"
    assert len(run(partial(store.clusters, limit=1))) == 1


def test_what_jobs_need_is_known_while_they_are_active(run: Run) -> None:
    life = Life()
    first = life.then(f.Admitted()).state
    done = life.then(f.StopRequested(by="ann", request="s")).state
    assert done.phase is Phase.STOPPED
    for state in (first, first):
        run(partial(store.wanted, job=state, at=NOW))
    ((tenant, user, need),) = run(partial(store.needed, pool=first.pool))
    assert (tenant, user, need.name, need.demand) == (
        first.tenant,
        first.user,
        first.job,
        first.demand,
    )
    assert run(partial(store.needed, pool="other")) == ()
    run(partial(store.wanted, job=done, at=NOW))
    run(partial(store.wanted, job=first, at=NOW))  # late, and older
    assert run(partial(store.needed, pool=first.pool)) == ()


def test_one_holder_has_a_lease_until_it_lapses(run: Run) -> None:
    def take(holder: str, seconds: float) -> bool:
        now = NOW + timedelta(seconds=seconds)
        until = now + timedelta(seconds=60)
        taken: bool = run(lambda c: store.take_lease(c, "nodes", holder, now, until))
        return taken

    assert take("a", 0)
    assert not take("b", 59)
    assert take("a", 59)
    assert not take("b", 118)
    assert take("b", 119)
    assert not take("a", 119)
