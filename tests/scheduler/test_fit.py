"""A job that is only tried is told what the next round would do with it; what-ifs are as if."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.domain.violations import Violation
from muster.domain.waiting import FitOutcome
from muster.domain.whatif import AddNodes, OnNode, StopJob, read, read_all
from muster.scheduler.core.fit import TRIED, fit_of, tried
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import lost_work
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.whatif import imagine, with_job, with_priority
from tests.scheduler.small_world import SmallWorld
from tests.scheduler.worlds import NOW, at, decisions, node, queued, role, running, world

seeds = st.integers(min_value=0, max_value=2**32)
POLICY = Policy()


def spec(dice: Random) -> JobSpec:
    """A job as a user would write it."""
    kind = dice.choice(["reserved", "on_demand", "spot", "idle"])
    resource: dict[str, Any] = {
        "type": kind,
        "replicas": dice.randint(1, 3),
        "gpus_per_replica": dice.randint(1, 4),
    }
    if kind != "idle":
        resource["priority"] = dice.choice([10, 50, 90])
    queue = {"enabled": True, "max_queue_hours": 1, "max_requeues": 1}
    more = {"auto_queue": queue} if dice.random() < 0.7 else {}
    values = {"name": "j", "image": "i", "command": ("c",), "resource": resource, **more}
    return JobSpec.model_validate(values, strict=False)


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_what_is_said_of_a_job_is_what_becomes_of_it(seed: int) -> None:
    dice = Random(seed)
    small = SmallWorld(dice)
    for _ in range(dice.randint(0, 8)):
        small.carry_out(small.plan())
        small.live()
    snapshot, wanted = small.snapshot(), spec(dice)
    asked = tried("t", "u", wanted, snapshot.now)
    said = fit_of(plan(with_job(snapshot, asked), POLICY), ("t", TRIED))
    submitted = asked.model_copy(update={"job": "submitted", "entered_at": at(small.now + 0.01)})
    found = decisions(plan(with_job(snapshot, submitted), POLICY)).get("submitted")
    match found:
        case f.Scheduled():
            assert said.outcome is FitOutcome.PLACED
            assert said.placement == found.placement
            assert said.leaving == tuple(sorted(wait.job for wait in found.waits_for))
        case f.Declined():
            assert said.outcome is FitOutcome.DECLINED
            assert said.explanation is not None
        case _:
            assert said.outcome is FitOutcome.WAITS
            assert said.explanation is not None
            assert said.explanation.helps


def fit(snapshot: Snapshot, job: JobState, *texts: str) -> Any:
    what_ifs = read_all(texts)
    found = imagine(snapshot, what_ifs)  # type: ignore[arg-type]
    if isinstance(found, list):
        return found
    return fit_of(plan(with_job(found, job), POLICY), (job.tenant, job.job))


def test_placement_victims_and_lost_work() -> None:
    low = running("low", ["n1"], since=-3600, priority=10)
    found = fit(world([node("n1")], [low]), queued("q", priority=90))
    assert found.outcome is FitOutcome.PLACED
    assert found.placement == {"n1": ("worker-0",)}
    (victim,) = found.victims
    assert (victim.job, victim.cause, victim.gpus, victim.lost_gpu_s) == (
        "low",
        "priority",
        8,
        8 * 3600,
    )
    assert (found.leaving, found.wait_s) == (("low",), 30)


def test_jobs_that_share_cards_show_and_lose_their_part() -> None:
    roles = (role(gpus=0, gpu_milli=250, cpus=64),)
    low = running("low", ["n1"], since=-3600, priority=10, roles=roles)
    wanted = role(replicas=1, gpus=0, gpu_milli=900, cpus=64)
    found = fit(world([node("n1")], [low]), queued("q", priority=90, roles=(wanted,)))
    assert (found.gpus, found.gpu_milli) == (0, 900)
    (victim,) = found.victims
    assert (victim.gpus, victim.gpu_milli, victim.lost_gpu_s) == (0, 250, 900)


def test_eight_parts_of_cards_weigh_more_than_one() -> None:
    def lost(replicas: int, milli: int) -> float:
        roles = (role(replicas=replicas, gpus=0, gpu_milli=milli),)
        return lost_work(running("r", ["n1"] * replicas, since=-1000, roles=roles), NOW)

    assert (lost(1, 250), lost(8, 900)) == (250, 7200)
    cpu_only = running("c", ["n1"], since=-1000, roles=(role(gpus=0),))
    assert lost_work(cpu_only, NOW) == 1000


TWO = [node("n1"), node("n2")]
BUSY = [running("r1", ["n1"]), running("r2", ["n2"])]


@pytest.mark.parametrize(
    ("texts", "nodes"),
    [
        ((), None),
        (("stop r2",), {"n2"}),
        (("add 1 node like n1",), {"n1+1"}),
        (("ADD 2 nodes LIKE n2", "drain n2+1"), {"n2+2"}),
        (("stop r1", "cordon n1"), None),
        (("stop r1", "cordon n1", "uncordon n1"), {"n1"}),
        (("stop r1", "remove n1"), None),
        (("drain n1", "stop r2"), {"n2"}),
    ],
)
def test_what_ifs_hold_together(texts: tuple[str, ...], nodes: set[str] | None) -> None:
    found = fit(world(TWO, BUSY), queued("q"), *texts)
    assert set(found.placement) == (nodes or set())
    assert (found.outcome is FitOutcome.PLACED) == (nodes is not None)


def test_a_what_if_changes_nothing_else() -> None:
    snapshot = world(TWO, BUSY)
    before = world(TWO, BUSY)
    fit(snapshot, queued("q"), "stop r1", "drain n2", "add 3 nodes like n1")
    assert snapshot == before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("drain n1", OnNode("drain", "n1")),
        ("  Uncordon   node-3.example ", OnNode("uncordon", "node-3.example")),
        ("add 4 nodes like node-1", AddNodes(4, "node-1")),
        ("add 1 node like n", AddNodes(1, "n")),
        ("stop j0123", StopJob("j0123")),
    ],
)
def test_what_ifs_are_read(text: str, found: object) -> None:
    assert read(text, "$") == found


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("", 1, "drain, cordon"),
        ("drian n1", 1, "drain, cordon"),
        ("drain", 6, "the name of a node"),
        ("drain n1 n2", 10, "nothing more"),
        ("add many nodes like n1", 5, "a number from 1 to 1000"),
        ("add 0 nodes like n1", 5, "a number from 1 to 1000"),
        ("add 1001 nodes like n1", 5, "a number from 1 to 1000"),
        ("add ٣ nodes like n1", 5, "a number from 1 to 1000"),
        ("add 3 boxes like n1", 7, "nodes, node"),
        ("add 3 nodes as n1", 13, "like"),
        ("stop", 5, "the id or name of a job"),
        ("x" * 400, 301, "nothing more"),
    ],
)
def test_a_what_if_that_is_none_says_where_and_what_may_stand(
    text: str, place: int, expected: str
) -> None:
    found = read(text, "$.what_if[0]")
    assert isinstance(found, Violation)
    assert (found.code, found.path) == ("E_WHAT_IF", "$.what_if[0]")
    assert f"at character {place}: expected {expected}" in found.en
    assert "add N nodes like NODE" in found.zh


def test_names_that_mean_nothing_or_too_much_are_refused_with_their_place() -> None:
    twins = [running("r1", ["n1"]).model_copy(update={"name": "train"})]
    twins += [running("r2", ["n2"]).model_copy(update={"name": "train"})]
    found = fit(world(TWO, twins), queued("q"), "stop r1", "drain n9", "stop train", "stop zzz")
    assert [(each.code, each.path) for each in found] == [
        ("E_WHAT_IF_NODE", "$.what_if[1]"),
        ("E_WHAT_IF_JOB", "$.what_if[3]"),
    ]
    (both,) = fit(world(TWO, twins), queued("q"), "stop train")
    assert both.code == "E_WHAT_IF_JOBS"
    assert "r1, r2" in both.en
    (many,) = read_all(["drain n1"] * 21)
    assert isinstance(many, Violation)
    assert many.code == "E_WHAT_IF_MANY"


def test_another_priority_is_as_if() -> None:
    job = queued("q", priority=10)
    risen = with_priority(job, 90)
    assert isinstance(risen, JobState)
    assert risen.demand.priority == 90
    refused = with_priority(queued("i", kind="idle"), 90)
    assert isinstance(refused, Violation)
    assert refused.code == "E_IDLE_PRIORITY"


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_a_book_with_a_job_more_or_less_is_as_if_made_so(seed: int) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(4):
        small.carry_out(small.plan())
        small.live()
    snapshot = small.snapshot()
    jobs = list(snapshot.book)
    for one in jobs:
        left = snapshot.book.without(one.key)
        assert left == world([], []).book.of([j for j in jobs if j.key != one.key], {})
        if one.key in {w.key for w in snapshot.book.waiters()} and not one.state.held:
            assert left.plus(one, None) == snapshot.book
            fresh = plan(Snapshot(**_fields(snapshot) | {"jobs": left.plus(one, None)}), POLICY)
            assert fresh.moves == plan(snapshot, POLICY).moves


def _fields(snapshot: Snapshot) -> dict[str, Any]:
    return {
        name: getattr(snapshot, name) for name in ("pool", "now", "upto", "nodes", "last_round")
    }
