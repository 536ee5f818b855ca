"""What reaches a job within the same second may come in any order: the job has one end."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_runner import tell

REACHES: dict[str, dict[str, object]] = {
    "evicted": {"do": "submit", "job": "h"},
    "stopped": {"do": "stop", "job": "v"},
    "ended": {"do": "exit", "job": "v", "code": 0},
    "rung": {"do": "ring_old"},
}
ORDERS = list(permutations(REACHES))


def story(order: tuple[str, ...], apart: float, phase: str, never: list[str]) -> Scenario:
    """The order, so many seconds apart; v does not end because it is told to."""
    steps = [{"at": number * apart, **REACHES[what]} for number, what in enumerate(order)]
    once = {"succeeded": 1} if phase == "succeeded" else {}
    v = {"phase": phase, "on": [], "count": {**once, "released": 1}, "never": never}
    text = {
        "title": " then ".join(order),
        "given": {
            "nodes": {"n1": 8},
            "jobs": {
                "v": {
                    "priority": 30,
                    "grace": 20,
                    "auto_queue": {"hours": 2, "requeues": 3},
                    "process": {"stop": None},
                },
                "h": {"priority": 80, "state": "later"},
            },
        },
        "when": steps,
        "then": [{"at": 90, "jobs": {"v": v, "h": {"phase": "running", "processes": 1}}}],
    }
    return Scenario.model_validate_json(json.dumps(text))


@pytest.mark.case("RQT-31")
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_what_comes_in_one_instant_leaves_one_end(order: tuple[str, ...]) -> None:
    """The process had ended before anybody could tell it to stop."""
    tell(story(order, 0.0, "succeeded", ["stopped", "requeued"]))


@pytest.mark.case("RQT-31")
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_what_comes_one_after_the_other_leaves_the_end_of_who_came_first(
    order: tuple[str, ...],
) -> None:
    """An end by itself counts before an order to stop; after one, what its owner wants counts."""
    by_itself = order.index("ended") < min(order.index("evicted"), order.index("stopped"))
    if by_itself:
        tell(story(order, 1.0, "succeeded", ["stopped", "requeued"]))
    else:
        tell(story(order, 1.0, "stopped", ["succeeded"]))


@pytest.mark.sibling_of("RQT-17")
@pytest.mark.parametrize("order", list(permutations(("room", "stop", "clock"))), ids="-".join)
@pytest.mark.parametrize("second", [3599.0, 3599.99, 3600.0, 3600.01])
def test_room_a_stop_and_the_end_of_the_hour_together(
    order: tuple[str, ...], second: float
) -> None:
    """Its owner's stop beats both others; nothing of it runs, and its hold is free again."""
    what: dict[str, dict[str, object]] = {
        "room": {"do": "stop", "job": "blocks"},
        "stop": {"do": "stop", "job": "v"},
        "clock": {"do": "ring_old"},
    }
    text = {
        "title": " then ".join(order),
        "given": {
            "nodes": {"n1": 8},
            "jobs": {
                "blocks": {"priority": 80, "process": {"stop": 0.0}},
                "v": {
                    "priority": 30,
                    "state": "queued",
                    "auto_queue": {"hours": 1, "requeues": 3},
                },
            },
        },
        "when": [{"at": second + n / 1000, **what[name]} for n, name in enumerate(order)],
        "then": [
            {
                "at": 3720,
                "jobs": {"v": {"phase": "stopped", "on": [], "never": ["started"]}},
                "nodes": {"n1": {"free": 8}},
            }
        ],
    }
    tell(Scenario.model_validate_json(json.dumps(text)))
