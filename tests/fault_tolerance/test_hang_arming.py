"""When nobody may be called hung: phase, command, nodes, and what stands for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muster.domain import facts as f
from muster.domain.nodes import NodeCondition, NodeState
from muster.fault_tolerance.core.hang_arming import Unarmed, sleeps_on_purpose, unarmed
from muster.testing.cluster import shape
from tests.support.lives import START, Life, spec

WATCHED = {"enabled": True, "hang": {"action": "restart", "window_s": 600}}


def life() -> Life:
    return Life(spec(fault_tolerance=WATCHED, debug={"enabled": True, "hold_seconds": 600}))


def node(name: str = "n1", **more: object) -> NodeState:
    values = {"pool": "default", "node": name, "cluster": "c", "shape": shape(), **more}
    return NodeState.model_validate({**values, "since": START})


def why(state_of: Life, *nodes: NodeState, **more: bool) -> Unarmed | None:
    known = {each.node: each for each in nodes}
    return unarmed(state_of.state, known, **{"sleeps": False, **more})


def test_a_job_that_runs_on_nodes_in_order_is_watched() -> None:
    assert why(life().running(), node("n1"), node("n2")) is None
    assert why(life().running()) is None


@pytest.mark.parametrize(
    "brought",
    [
        pytest.param(lambda life: life, id="submitted"),
        pytest.param(lambda life: life.launching(), id="starting"),
        pytest.param(lambda life: life.faulted(), id="faulted"),
        pytest.param(lambda life: life.interrupted(), id="interrupted"),
        pytest.param(lambda life: life.running().then(f.Succeeded(attempt=1)), id="held or over"),
        pytest.param(
            lambda life: life.running().then(
                f.Preempted(cause="node_drain", grace_s=30)  # type: ignore[arg-type]
            ),
            id="evicting",
        ),
        pytest.param(
            lambda life: life.running().then(f.StopRequested(by="ann", request="r")), id="stopping"
        ),
    ],
)
def test_only_what_runs_is_watched(brought: Callable[[Life], Life]) -> None:
    assert why(brought(life())) is Unarmed.NOT_RUNNING


def test_nobody_is_watched_who_did_not_ask_for_it() -> None:
    assert why(Life(spec()).running()) is Unarmed.OFF


@pytest.mark.parametrize(
    "more",
    [{"draining": True}, *({"condition": c} for c in NodeCondition if c != NodeCondition.READY)],
)
def test_a_node_that_is_not_in_order_disarms(more: dict[str, object]) -> None:
    assert why(life().running(), node("n1", **more)) is Unarmed.NODE
    assert why(life().running(), node("elsewhere", **more)) is None


def test_a_node_that_takes_no_new_work_is_in_order() -> None:
    assert why(life().running(), node("n1", cordoned=True)) is None


def test_what_stands_for_all_comes_before_the_node() -> None:
    lost = node("n1", condition=NodeCondition.LOST)
    assert why(life().running(), lost, frozen=True) is Unarmed.FROZEN
    assert why(life().running(), lost, incident=True) is Unarmed.INCIDENT
    assert why(life().running(), lost, sleeps=True) is Unarmed.SLEEPS


@pytest.mark.parametrize(
    ("command", "sleeps"),
    [
        (["sleep", "inf"], True),
        (["sleep inf"], True),
        (["/bin/sleep", "infinity"], True),
        (["bash", "-c", "sleep inf"], True),
        (["sh", "-lc", "exec sleep infinity"], True),
        (["sleep", "3600"], False),
        (["bash", "-c", "python train.py || sleep inf"], False),
        (["python", "sleep.py", "inf"], False),
        ([], False),
    ],
)
def test_a_command_that_only_keeps_its_place(command: list[str], sleeps: bool) -> None:
    assert sleeps_on_purpose(command) is sleeps
