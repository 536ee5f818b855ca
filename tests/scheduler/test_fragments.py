"""Of what use free room is: rows that are never summed, and how far idle jobs may go."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from muster.domain.demand import StabilityLevel, Toleration
from muster.domain.nodes import ForeignUse, NodeState, Taint
from muster.domain.pools import FragmentRow, FragmentsMeasured
from muster.domain.state import JobState
from muster.scheduler.core.amounts import Need, Room
from muster.scheduler.core.fragments import MOST_SHAPES, measure
from muster.scheduler.core.rooms import Kind
from muster.scheduler.core.scoring import Market, Typical
from muster.scheduler.core.stability import BOUNDS, allows, risks
from tests.scheduler.pools import Pool, settle
from tests.scheduler.worlds import decide, node, placements, queued, role, running

LOW, MEDIUM, HIGH = StabilityLevel


def measured(nodes: Iterable[NodeState], jobs: Iterable[JobState]) -> FragmentsMeasured:
    """Plan a round and measure."""
    return measure(decide(nodes, jobs))


def row(found: FragmentsMeasured, gpus: int, level: StabilityLevel = LOW) -> FragmentRow:
    """Return the row of a shape."""
    return next(one for one in found.rows if one.gpus == gpus and one.level is level)


def test_free_cards_in_all_and_the_largest_gang_stand_side_by_side() -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    taken = [running(f"f{i}", [f"n{i}"], gpus=5, guarantee=True) for i in range(4)]
    whole = queued("whole", workers=2, gpus=8)
    found = measured(nodes, [*taken, whole])
    assert found.free_milli == 12_000
    assert (row(found, 8).free_milli, row(found, 8).gang, row(found, 8).nodes) == (12_000, 0, 0)
    assert (row(found, 5).free_milli, row(found, 5).gang) == (12_000, 0)
    found = measured(nodes, [*taken, queued("small", workers=40, gpus=1)])
    assert (row(found, 1).gang, row(found, 1).nodes) == (12, 4)


def test_nodes_that_take_no_new_work_do_not_count() -> None:
    closed = [
        node("n1", cordoned=True),
        node("n2", taints=(Taint(key="k"),)),
        node("n3", condition="lost"),
    ]
    asking = queued("j", workers=99, gpus=1, tolerations=(Toleration(),))
    assert measured([*closed, node("n4", gpus=2)], [asking]).free_milli == 2000
    assert measured([node("n4", foreign=ForeignUse(gpus=6))], [asking]).free_milli == 2000


def test_only_nodes_with_the_model_count_for_a_shape() -> None:
    nodes = [node("n1", gpu_model="A100"), node("n2", gpu_model="H100", gpus=4)]
    asking = queued("j", roles=(role(replicas=99, gpus=1, gpu_model="H100"),))
    found = measured(nodes, [asking])
    assert found.free_milli == 12_000
    assert (row(found, 1).free_milli, row(found, 1).gang, row(found, 1).nodes) == (4000, 4, 1)


def test_what_the_usual_shapes_cannot_use_is_fragmented() -> None:
    nodes = [node("n1"), node("n2", gpus=4)]
    assert measured(nodes, [queued("j", workers=9, gpus=8)]).fragmented_milli == 4000
    assert measured(nodes, [queued("j", workers=99, gpus=1)]).fragmented_milli == 0
    assert measured(nodes, []) == FragmentsMeasured(free_milli=12_000, fragmented_milli=0)


def test_so_many_shapes_are_looked_at_and_each_at_every_level() -> None:
    jobs = [queued(f"j{i}", workers=99, gpus=1, entered=-i, roles=_odd(i)) for i in range(40)]
    found = measured([node("n1")], jobs)
    assert len(found.rows) == 3 * MOST_SHAPES
    assert found == measured([node("n1")], jobs[::-1])


def _odd(number: int) -> tuple[object, ...]:
    return (role(replicas=99, gpus=1, memory_mib=1000 + number),)


# --- stability ---------------------------------------------------------------------------------


def test_a_higher_level_never_has_more_to_use() -> None:
    nodes = [node(f"n{i}", gpus=i % 9) for i in range(12)]
    found = measured(nodes, [queued("a", workers=99, gpus=4), queued("b", workers=99, gpus=1)])
    for gpus in (1, 4):
        rows = [row(found, gpus, level) for level in (LOW, MEDIUM, HIGH)]
        assert [one.gang for one in rows] == sorted((one.gang for one in rows), reverse=True)
        assert [one.free_milli for one in rows] == sorted(
            (r.free_milli for r in rows), reverse=True
        )
    assert row(found, 1, HIGH).gang < row(found, 1, LOW).gang


def test_what_nobody_else_can_use_has_no_risk_and_what_is_scarce_has_much() -> None:
    market = Market((Typical(Need(gpus=8), None, 1.0),), (("A", 1),), 1, 1)
    small, large = Kind(Room(4), "A"), Kind(Room(8), "A")
    assert risks({small: 3, large: 5}, market) == {small: 0.0, large: 2.0}
    assert risks({large: 1000}, market)[large] == pytest.approx(0.01)
    assert risks({large: 5}, Market()) == {large: 0.0}


@pytest.mark.parametrize("level", [MEDIUM, HIGH])
def test_the_bound_of_a_level_is_allowed_and_more_is_not(level: StabilityLevel) -> None:
    bound = BOUNDS[level]
    assert bound is not None
    assert allows(bound, bound)
    assert not allows(bound, bound + 1e-9)
    assert allows(BOUNDS[LOW], 1e9)


def test_an_idle_job_keeps_off_nodes_that_its_level_finds_too_risky() -> None:
    nodes = [node("n1"), node("n2", gpus=4)]
    usual = [running("u", ["n9"], gpus=8, guarantee=True)]
    for level, where in ((LOW, {"n1"}), (MEDIUM, set()), (HIGH, set())):
        job = queued("i", gpus=8, kind="idle", stability_level=level)
        made = decide([*nodes, node("n9")], [*usual, job])
        assert set(placements(made).get("i", {})) == where
    fits = queued("i", gpus=4, kind="idle", stability_level=HIGH)
    assert set(placements(decide([*nodes, node("n9")], [*usual, fits]))["i"]) == {"n2"}


# --- the event ---------------------------------------------------------------------------------


async def test_fragments_are_told_when_they_change_and_not_too_often() -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler()
    await settle(scheduler)
    assert len(pool.events("fragments")) == 1
    await pool.submit("j", gpus=8)
    await settle(scheduler)
    await pool.launch("j")
    assert len(pool.events("fragments")) == 1
    pool.pass_by(10)
    await settle(scheduler)
    told = [event.event.data.detail for event in pool.events("fragments")]
    assert [one.free_milli for one in told] == [16_000, 8000]
    pool.pass_by(60)
    await settle(scheduler)
    assert len(pool.events("fragments")) == 2
