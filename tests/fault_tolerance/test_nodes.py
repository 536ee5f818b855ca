"""Sick nodes in time: suspected, kept out within the brakes, readmitted; two replicas all along."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.bus import Question
from muster.contracts.judgements import AskFingerprints, AskNodes, FingerprintClusters, NodeRatings
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.errors import Permanent
from muster.fault_tolerance.core.brakes import brake_id
from tests.fault_tolerance.fleets import NOW
from tests.fault_tolerance.stage import Stage
from tests.support.lives import Life, spec

DAY = timedelta(hours=24)
OUT = ["joined", "suspected", "excluded"]


async def test_a_lemon_with_three_users_rests_for_a_day() -> None:
    stage = Stage()
    await stage.pool_of(20)
    await stage.three_fail("n3")
    await stage.sweep()
    found = await stage.node("n3")
    assert await stage.node_events("n3") == OUT
    assert (found.suspected, found.excluded_until, found.schedulable) == (True, NOW + DAY, False)
    stage.later(hours=23.9)
    await stage.sweep()
    assert await stage.node_events("n3") == OUT
    stage.later(hours=0.1)
    await stage.sweep()
    assert await stage.node_events("n3") == [*OUT, "readmitted"]
    assert (await stage.node("n3")).schedulable
    stage.later(days=1)
    await stage.sweep()
    assert await stage.node_events("n3") == [*OUT, "readmitted"]
    assert await stage.node_events("n4") == ["joined"]


async def test_two_users_jobs_on_a_good_node_are_no_lemon() -> None:
    stage = Stage()
    await stage.pool_of(20)
    await stage.fails("n3", "j1", "ann")
    await stage.fails("n3", "j2", "bob")
    for number in range(9):
        await stage.fails("n4", f"k{number}", "ann")
    await stage.sweep()
    assert await stage.node_events("n3") == await stage.node_events("n4") == ["joined"]


async def test_each_repeat_rests_longer_until_an_operator_opens_the_node() -> None:
    stage = Stage()
    await stage.pool_of(20)
    for number, hours in enumerate((24, 48, 96)):
        await stage.three_fail("n3", f"a{number}")
        await stage.sweep()
        found = await stage.node("n3")
        assert found.excluded_until == stage.at + timedelta(hours=hours)
        stage.later(hours=hours)
        await stage.sweep()
    await stage.say("n3", n.NodeUncordoned(by="op"))
    stage.later(seconds=1)
    await stage.sweep()
    assert (await stage.node("n3")).schedulable
    await stage.three_fail("n3", "later")
    stage.later(seconds=1)
    await stage.sweep()
    assert (await stage.node("n3")).excluded_until == stage.at + DAY


async def test_an_operators_word_ends_an_exclusion() -> None:
    stage = Stage()
    await stage.pool_of(20)
    await stage.three_fail("n3")
    await stage.sweep()
    stage.later(hours=1)
    await stage.say("n3", n.NodeUncordoned(by="op"))
    await stage.sweep()
    stage.later(hours=1)
    await stage.sweep()
    found = await stage.node("n3")
    assert (found.schedulable, found.suspected, found.exclusions) == (True, False, 0)


async def test_hardware_that_reports_itself_is_kept_out_after_one_failure() -> None:
    stage = Stage()
    await stage.pool_of(20)
    await stage.fails("n3", "j1", "ann", rule="xid.79", hard=True)
    await stage.sweep()
    assert await stage.node_events("n3") == OUT
    answer = await ratings(stage)
    assert (answer.nodes[0].node, answer.nodes[0].proposed) == ("n3", True)


async def test_more_than_a_fifth_of_a_pool_is_held_and_people_are_told() -> None:
    stage = Stage()
    await stage.pool_of(4)
    await stage.three_fail("n0")
    await stage.sweep()
    assert await stage.node_events("n0") == ["joined", "suspected"]
    told = await stage.incident(brake_id("default"))
    assert told is not None
    assert (told.open, told.nodes) == (True, ("n0",))
    assert "no node of it can ever be kept out" in told.en
    await stage.join("n4")
    stage.later(minutes=1)
    await stage.sweep()
    assert await stage.node_events("n0") == OUT
    told = await stage.incident(brake_id("default"))
    assert told is not None
    assert not told.open


async def test_a_wave_of_sick_nodes_takes_one_an_hour() -> None:
    stage = Stage()
    await stage.pool_of(20)
    for number in range(8):
        await stage.three_fail(f"n{number}")
    for number in range(8, 20):
        await stage.works(f"n{number}", 5)
    out = []
    for _ in range(6):
        await stage.sweep()
        states = [await stage.node(f"n{number}") for number in range(20)]
        out.append(sum(state.excluded_until is not None for state in states))
        stage.later(hours=1)
    assert out == [1, 2, 3, 4, 4, 4]


@pytest.mark.parametrize(("guaranteed", "events"), [(32, OUT), (33, ["joined", "suspected"])])
async def test_a_guarantee_is_kept(guaranteed: int, events: list[str]) -> None:
    stage = Stage()
    await stage.pool_of(5)
    await stage.guarantee(guaranteed)
    await stage.three_fail("n0")
    await stage.sweep()
    assert await stage.node_events("n0") == events


@pytest.mark.parametrize(("workers", "events"), [(4, OUT), (5, ["joined", "suspected"])])
async def test_a_gang_that_needs_the_node_keeps_it_in(workers: int, events: list[str]) -> None:
    stage = Stage()
    await stage.pool_of(5)
    gang = Life(spec(resource={"type": "reserved", "replicas": workers, "gpus_per_replica": 8}))
    await stage.wants(gang.then(f.Admitted()).state)
    await stage.three_fail("n0")
    await stage.sweep()
    assert await stage.node_events("n0") == events


async def test_a_machine_that_comes_back_renamed_stays_out() -> None:
    stage = Stage()
    await stage.pool_of(20)
    await stage.join("old", serial="SN-1")
    await stage.three_fail("old", serial="SN-1")
    await stage.sweep()
    until = (await stage.node("old")).excluded_until
    await stage.say("old", n.NodeLeft())
    stage.later(hours=2)
    await stage.join("new", serial="SN-1")
    await stage.join("other", serial="SN-2")
    await stage.sweep()
    found = await stage.node("new")
    assert (found.excluded_until, found.schedulable) == (until, False)
    assert (await stage.node("other")).schedulable


async def test_a_node_that_is_kept_out_again_is_proposed_to_people() -> None:
    stage = Stage()
    await stage.pool_of(20)
    for number, proposed in enumerate((False, True)):
        await stage.three_fail("n3", f"a{number}")
        await stage.sweep()
        row = (await ratings(stage)).nodes[0]
        assert (row.node, row.proposed, row.exclusions) == ("n3", proposed, number + 1)
        assert "of 3 users" in row.why
        assert "3 个用户" in row.why_zh
        stage.later(days=3)
        await stage.sweep()
    await stage.say("n3", n.NodeCordoned(by="op"))
    assert not (await ratings(stage)).nodes[0].proposed


async def test_switched_off_nodes_are_only_suspected() -> None:
    stage = Stage(exclude_nodes=False)
    await stage.pool_of(20)
    await stage.three_fail("n3")
    await stage.sweep()
    assert await stage.node_events("n3") == ["joined", "suspected"]


async def test_one_replica_goes_on_where_another_died() -> None:
    stage = Stage()
    await stage.pool_of(20)
    first, second = stage.replicas
    await first.nodes.sweep()
    await stage.three_fail("n3")
    await second.nodes.sweep()
    assert await stage.node_events("n3") == ["joined"]
    stage.later(seconds=60)
    await second.nodes.sweep()
    assert await stage.node_events("n3") == OUT


async def test_a_silent_pool_loses_no_node() -> None:
    stage = Stage()
    await stage.pool_of(20)
    for number in range(4):
        await stage.say(f"n{number}", n.NodeLost())
    await stage.three_fail("n9")
    await stage.sweep()
    assert await stage.node_events("n9") == ["joined", "suspected"]
    for number in range(4):
        await stage.join(f"n{number}")
    stage.later(minutes=1)
    await stage.sweep()
    assert await stage.node_events("n9") == OUT


async def ratings(stage: Stage) -> NodeRatings:
    body = AskNodes(pool="default").model_dump_json().encode()
    found = await stage.replicas[1].desk.answer(Question("judgements.nodes", body))
    return NodeRatings.model_validate_json(found)


async def test_people_are_told_how_each_node_does() -> None:
    stage = Stage()
    await stage.pool_of(4)
    await stage.join("west", pool="west")
    await stage.three_fail("n0")
    await stage.sweep()
    answer = await ratings(stage)
    first = answer.nodes[0]
    assert (first.node, first.jobs, first.users, first.rate) == ("n0", 3, 3, 1.0)
    assert first.rules == (("cuda.error", 3),)
    assert "no node of it can ever be kept out" in first.held
    assert first.held_zh != first.held
    assert "3 jobs of 3 users" in first.why
    assert {row.pool for row in answer.nodes} == {"default"}
    assert answer.rated == 1


async def test_people_are_told_of_unknown_failures() -> None:
    stage = Stage()
    await stage.fails("n0", "j1", "ann", rule=None, fingerprint="f9", excerpt="odd")
    body = AskFingerprints().model_dump_json().encode()
    found = await stage.replicas[0].desk.answer(Question("judgements.fingerprints", body))
    (cluster,) = FingerprintClusters.model_validate_json(found).clusters
    assert (cluster.fingerprint, cluster.jobs, cluster.excerpt) == ("f9", 1, "odd")


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("judgements.nodes", b"[]"),
        ("judgements.nodes", b'{"pool": "a.b"}'),
        ("judgements.fingerprints", b'{"limit": 0}'),
        ("judgements.fingerprints", b'{"limit": 501}'),
        ("judgements.other", b"{}"),
    ],
)
async def test_what_is_no_question_is_refused(subject: str, body: bytes) -> None:
    with pytest.raises(Permanent):
        await Stage().replicas[0].desk.answer(Question(subject, body))
