"""Why a job waits: the true reason, in both languages, node by node; and who is declined."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.nodes import ForeignUse, NodeState
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode
from muster.domain.state import JobState
from muster.domain.waiting import Explanation
from muster.scheduler.core.explain import explain
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.verdicts import Waiting
from tests.scheduler.worlds import (
    NOW,
    at,
    but,
    decide,
    decisions,
    held,
    node,
    only,
    preempted,
    queued,
    role,
    running,
    unreached,
    world,
)


def why(nodes: list[NodeState], jobs: list[JobState], name: str) -> Explanation:
    """Explain a job."""
    return explain(world(nodes, jobs), ("t", name), Policy())


def text(found: Explanation) -> str:
    """Return everything that is said, in English."""
    parts = [found.why.en, *(one.en for one in found.nodes)]
    return "\n".join([*parts, *(one.en for one in found.helps)])


@pytest.mark.sibling_of("SYN-14")
def test_what_others_take_is_named_where_it_stands_in_the_way() -> None:
    found = why([node("n1", foreign=ForeignUse(gpus=4)), node("n2")], [TAKEN2, queued("j")], "j")
    assert "n1: 4 of 8 GPUs free" in text(found)
    assert "4 are taken by others" in text(found)
    (note,) = [one for one in found.nodes if one.node == "n1"]
    assert note.numbers["foreign"] == 4
    assert "4 个被外部程序占用" in note.zh
    assert "others" not in next(one.en for one in found.nodes if one.node == "n2")


TAKEN2 = running("k2", ["n2"], gpus=6, guarantee=True)
TAKEN = running("k", ["n1"], gpus=6, guarantee=True)

CASES: dict[str, tuple[list[NodeState], JobState, Waiting, str]] = {
    "no room": ([node("n1")], queued("j"), Waiting.NO_ROOM, "n1: 2 of 8 GPUs free"),
    "too large a worker": (
        [node("n1")],
        queued("j", gpus=9),
        Waiting.NEVER_FITS,
        "9 GPU each only 0 fit even into an empty pool",
    ),
    "too large a gang": (
        [node("n1")],
        queued("j", workers=2),
        Waiting.NEVER_FITS,
        "of 2 workers with 8 GPU each only 1 fit",
    ),
    "no such model": (
        [node("n1")],
        queued("j", roles=(role(gpu_model="H100"),)),
        Waiting.NEVER_FITS,
        "n1: GPU model A100, not H100",
    ),
    "no nodes": ([], queued("j"), Waiting.NO_NODES, "the pool has no nodes yet"),
    "cordoned": (
        [node("n1"), node("n2", cordoned=True)],
        queued("j"),
        Waiting.NO_ROOM,
        "n2: closed to new work",
    ),
    "kept out": (
        [node("n1"), node("n2", excluded_until=NOW)],
        queued("j"),
        Waiting.NO_ROOM,
        "n2: kept out for a while",
    ),
    "all shut": (
        [node("n2", cordoned=True)],
        queued("j"),
        Waiting.NODES_SHUT,
        "placed now: n2",
    ),
    "named nodes vanished": (
        [node("n1")],
        queued("j", node_policy=only("n9")),
        Waiting.NODES_ABSENT,
        "does not have: n9",
    ),
    "named nodes cordoned": (
        [node("n1"), node("n2", cordoned=True)],
        queued("j", node_policy=only("n2")),
        Waiting.NODES_SHUT,
        "n1: excluded by the job's node policy",
    ),
    "excluded": (
        [node("n1"), node("n3", gpus=8)],
        queued("j", node_policy=but("n3")),
        Waiting.NO_ROOM,
        "excludes 1 node(s), it would be placed now",
    ),
    "avoided": (
        [node("n1"), node("n3")],
        queued("j", avoid=("n3",)),
        Waiting.NO_ROOM,
        "n3: avoided after a failure",
    ),
    "spot only": (
        [node("n1", spot=True)],
        queued("j"),
        Waiting.NEVER_FITS,
        "n1: spot capacity, not for this job",
    ),
    "its time": (
        [node("n1")],
        queued("j", not_before=at(60)),
        Waiting.NOT_BEFORE,
        "not tried again before 2030-01-01T00:01:00",
    ),
}


@pytest.mark.parametrize(("nodes", "job", "code", "says"), CASES.values(), ids=list(CASES))
def test_reasons(nodes: list[NodeState], job: JobState, code: Waiting, says: str) -> None:
    found = why(nodes, [TAKEN, job], "j")
    assert found.why.code == code
    assert says in text(found)
    assert found.why.zh != found.why.en
    assert found.helps


def test_every_sentence_has_two_languages_and_fills_its_gaps() -> None:
    for nodes, job, _, _ in CASES.values():
        found = why(nodes, [TAKEN, job], "j")
        spoken = [(found.why.en, found.why.zh)]
        spoken += [(one.en, one.zh) for one in found.nodes]
        spoken += [(one.en, one.zh) for one in found.helps]
        assert all(en and zh and "{" not in en + zh for en, zh in spoken)


def test_how_many_are_ahead() -> None:
    jobs = [TAKEN, queued("j", priority=10), queued("a"), queued("b", entered=-200)]
    found = {name: why([node("n1")], jobs, name).ahead for name in ("j", "a", "b")}
    assert found == {"b": 0, "a": 1, "j": 2}


def test_who_leaves_a_node_is_named() -> None:
    out = preempted(running("out", ["n1"]), when=-5)
    found = why([node("n1")], [out, queued("i", kind="idle")], "i")
    assert "n1: 0 of 8 GPUs free" in text(found)
    assert "out is leaving it" in text(found)


def test_a_job_that_waits_for_its_victims_says_so() -> None:
    victim = preempted(running("v", ["n1"]), when=-5)
    waiting = held(queued("h", priority=80), ["n1"], waits=[victim], when=-5)
    found = why([node("n1")], [victim, waiting], "h")
    assert (found.why.code, found.phase) == ("VICTIMS", Phase.STARTING)
    assert "waits for v" in found.why.en


def test_a_running_job_waits_for_nothing() -> None:
    assert why([node("n1")], [TAKEN], "k").why.code == "RUNNING"
    with pytest.raises(KeyError):
        why([node("n1")], [TAKEN], "unknown")


@pytest.mark.parametrize(
    ("nodes", "have"),
    [([node("n1"), node("n2", gpus=4)], 0), ([node("n1"), node("n2")], 1)],
    ids=["never", "not now"],
)
def test_a_one_shot_job_is_declined_in_its_one_round(nodes: list[NodeState], have: int) -> None:
    one_shot = queued("s", workers=2, kind="spot", auto=False)
    assert one_shot.one_shot
    found = decisions(decide(nodes, [TAKEN, one_shot]))["s"]
    assert isinstance(found, f.Declined)
    assert found.reason.code is ReasonCode.INSUFFICIENT_CAPACITY
    assert f"2 x 8 GPU needed, {have} schedulable" in found.reason.en


def test_a_one_shot_job_that_had_no_round_is_not_declined() -> None:
    shot = queued("s", kind="spot", auto=False)
    later = queued("l", kind="spot", auto=False, not_before=at(5))
    assert decide([], [shot]).moves == ()
    assert decide([node("n1")], [running("k", ["n1"], guarantee=True), later]).moves == ()
    busy = [running(f"k{i}", [f"n{i}"]) for i in range(3)]
    nodes = [node(f"n{i}") for i in range(3)]
    jobs = [*busy, queued("a", gpus=7, entered=-200, kind="spot"), shot]
    made = plan(world(nodes, jobs), Policy(max_searches=1))
    assert made.moves == ()
    assert unreached(made) == {"s"}
    assert made.cursor == ("t", "s")
    following = plan(world(nodes, jobs, cursor=made.cursor), Policy(max_searches=1))
    assert set(decisions(following)) == {"s"}
    assert following.cursor is None


def test_a_round_that_is_full_says_what_it_did_not_reach() -> None:
    jobs = [queued(f"j{i}", gpus=1, entered=-100 + i) for i in range(5)]
    made = plan(world([node("n1")], jobs), Policy(max_decisions=3))
    assert set(decisions(made)) == {"j0", "j1", "j2"}
    assert unreached(made) == {"j3", "j4"}


def test_equal_shapes_that_failed_are_not_tried_again_in_the_round() -> None:
    jobs = [queued(f"j{i}") for i in range(50)]
    made = plan(world([node("n1")], [TAKEN, *jobs]), Policy(max_attempts=1, max_searches=1))
    assert {verdict.why for verdict in made.verdicts.values()} == {Waiting.NO_ROOM}


def test_a_shape_that_failed_may_evict_with_higher_rights() -> None:
    low = running("low", ["n1"], priority=20)
    sure = queued("sure", priority=10, guarantee=True)
    assert set(decisions(decide([node("n1")], [low, sure, queued("h", priority=80)]))) == {
        "low",
        "h",
    }


def test_shapes_that_a_round_did_not_reach_are_the_first_of_the_next() -> None:
    jobs = [queued(f"j{i}", gpus=4 + i, entered=-100 + i, guarantee=True) for i in range(4)]
    reached, cursor = list[set[str]](), None
    for _ in range(4):
        made = plan(world([node("n1")], [TAKEN, *jobs], cursor=cursor), Policy(max_looks=1))
        reached.append({job for (_, job), v in made.verdicts.items() if v.why is Waiting.NO_ROOM})
        cursor = made.cursor
    assert reached == [{"j0"}, {"j1"}, {"j2"}, {"j3"}]
    assert cursor is None
