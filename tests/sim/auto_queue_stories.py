"""Each combination of the auto-queue table as a scenario of the simulated world.

One story for each happening and class; in it five jobs that differ in their limits alone, each on a
machine of its own. What is expected is what the decisions came to when they were played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muster.cli.simulation.auto_queue_cases import (
    HOURS,
    MOST_REQUEUES,
    Auto,
    Case,
    Event,
    Happening,
    Kind,
    Stage,
)
from muster.cli.simulation.auto_queue_plays import Clock, Outcome, play
from muster.cli.simulation.scenario import Scenario

SETTINGS: dict[str, Auto | None] = {"off": None} | {
    f"left{left}": Auto(left) for left in range(MOST_REQUEUES + 1)
}
CLOCK_S = HOURS * 3600
Given = dict[str, Any]
Steps = list[dict[str, Any]]


def story(happening: Happening, kind: Kind) -> Scenario:
    """Return the scenario of one happening and class."""
    tell = _WAITING[happening.event] if happening.stage is Stage.QUEUED else _leaving(happening)
    given: Given = {
        "nodes": {_node(name): {"gpus": 8, "spot": kind.on_spot} for name in SETTINGS}
        | {"spare": 8},  # nobody's: a pool without any node makes everybody wait
        "jobs": {name: _job(name, kind) for name in SETTINGS},
    }
    at, steps = tell(given, kind)
    checks = {name: _expected(Case(kind, auto, happening)) for name, auto in SETTINGS.items()}
    return Scenario.model_validate(
        {
            "title": f"{happening.stage}: {happening.event} ({kind.name})",
            "given": given,
            "when": sorted(steps, key=lambda step: float(step["at"])),
            "then": [{"at": at, "jobs": checks}],
        },
        strict=False,
    )


def _node(name: str) -> str:
    return f"m-{name}"


def _job(name: str, kind: Kind) -> dict[str, Any]:
    auto = SETTINGS[name]
    limits = {"hours": HOURS, "requeues": auto.max_requeues} if auto else None
    return {
        "class": kind.resource_class.value,
        "workers": 2,
        "gpus": 4,
        "guarantee": kind.guarantee,
        "auto_queue": limits,
        "only_on": [_node(name)],
        "state": "later",
    }


def _each(at: float, do: str, **more: Any) -> Steps:
    """The same step for every machine."""
    return [{"at": at, "do": do, "node": _node(name), **more} for name in SETTINGS]


def _submit(at: float, prefix: str = "") -> Steps:
    return [{"at": at, "do": "submit", "job": prefix + name} for name in SETTINGS]


# --- while they wait ---------------------------------------------------------------------------


def _no_room(given: Given, kind: Kind) -> tuple[float, Steps]:
    return 300, [*_each(0, "cordon"), *_submit(2)]


def _deadline(given: Given, kind: Kind) -> tuple[float, Steps]:
    return CLOCK_S + 120, [*_each(0, "cordon"), *_submit(2)]


def _bounced(given: Given, kind: Kind) -> tuple[float, Steps]:
    """The executor stands still meanwhile: what is placed is not launched."""
    end = CLOCK_S + 2
    queued = [step for step in _submit(2) if step["job"] != "off"]
    return end + 120, [
        *_each(0, "cordon"),
        *queued,
        {"at": end - 30, "do": "crash", "service": "executor", "seconds": 200},
        *_each(end - 20, "uncordon"),
        {"at": end - 10, "do": "submit", "job": "off"},
        *_each(end + 10, "cordon"),
    ]


def _down(given: Given, *, full: bool) -> tuple[float, Steps]:
    """No round has run when everything stops; it comes back an hour after the deadline."""
    back = CLOCK_S + 3600
    return back + 240, [
        *(_each(0, "cordon") if full else ()),
        {"at": 1, "do": "crash", "service": "scheduler", "seconds": back - 1},
        *_submit(2),
        {"at": 10, "do": "crash", "service": "all", "seconds": back - 10},
    ]


_WAITING: dict[Event, Callable[[Given, Kind], tuple[float, Steps]]] = {
    Event.NO_ROOM: _no_room,
    Event.DEADLINE: _deadline,
    Event.BOUNCED: _bounced,
    Event.DOWN_FULL: lambda given, kind: _down(given, full=True),
    Event.DOWN_ROOM: lambda given, kind: _down(given, full=False),
}


# --- while they hold their nodes ---------------------------------------------------------------


def _leaving(happening: Happening) -> Callable[[Given, Kind], tuple[float, Steps]]:
    def tell(given: Given, kind: Kind) -> tuple[float, Steps]:
        steps: Steps = []
        for job in given["jobs"].values():
            match happening.stage:
                case Stage.LAUNCHED:
                    job |= {"state": "starting", "process": {"start": None}}
                case Stage.RUNNING:
                    job |= {"state": "running"}
        if happening.stage is Stage.PLACED:
            steps.append({"at": 0, "do": "crash", "service": "executor", "seconds": 600})
            steps += _submit(1)
        steps += _happens(happening, given, kind)
        return _looked_at(happening), steps

    return tell


def _looked_at(happening: Happening) -> float:
    """What is placed and not launched is placed anew after a minute; a start has 15 minutes."""
    if happening.stage is Stage.PLACED:
        return 45
    return 1000 if happening.event is Event.REFUSED else 400


def _happens(happening: Happening, given: Given, kind: Kind) -> Steps:
    placed = happening.stage is Stage.PLACED
    match happening.event:
        case Event.HIGHER:
            owner = "spot" if kind.on_spot else "on_demand"
            _others(given, {"class": owner, "priority": 90, "tenant": "other"})
            return _submit(10, "other-")
        case Event.LENDER:
            owner = "on_demand"
            low = {"class": owner, "priority": 10, "tenant": "lender", "guarantee": True}
            _others(given, low)
            shares = (("acme", 0), ("lender", 8 * len(SETTINGS)))
            given_back: Steps = [
                {"at": 8, "do": "share", "tenant": tenant, "guaranteed": cards}
                for tenant, cards in shares
            ]
            return [*given_back, *_submit(10, "other-")]
        case Event.RECLAIM:
            return _each(10, "reclaim", notice=120)
        case Event.DRAIN:
            return _each(10, "drain")
        case Event.LOST:
            # while the executor stands still only an operator can tell that a machine is off
            return _each(10, "fence" if placed else "off")
    return _each(10, "cordon")  # the start goes on without end; there is no other place


def _others(given: Given, what: dict[str, Any]) -> None:
    """Somebody else for each machine."""
    for name in SETTINGS:
        shape = {"workers": 2, "gpus": 4, "only_on": [_node(name)], "state": "later"}
        given["jobs"][f"other-{name}"] = shape | what


# --- what is expected ---------------------------------------------------------------------------


def _expected(case: Case) -> dict[str, Any]:
    outcome = play(case)
    check: dict[str, Any] = {
        "phase": outcome.phase.value,
        "shown": outcome.shown[-1].value,
        "requeues": outcome.requeues,
        "entry": 1 + outcome.entry,
        "infrastructure": int(outcome.ledger == "infrastructure"),
        "reason": outcome.reason.code.value if outcome.reason else None,
        "events": list(outcome.events),
        "count": _counts(outcome),
    }
    if outcome.clock is Clock.ONE_ROUND:  # it has it, without room
        check |= {"phase": "failed", "shown": "failed", "reason": "INSUFFICIENT_CAPACITY"}
        check |= {"one_shot": True, "events": [*outcome.events, "declined"]}
        check["count"] |= {"declined": 1}
    if case.happening.event is Event.DEADLINE and outcome.phase.value == "abnormal":
        check |= {
            "text": "the last placement round said: waiting",
            "text_zh": "最近一轮调度：等待中",
        }
    if outcome.phase.value == "starting" and case.happening.stage is Stage.QUEUED:
        check |= {"phase": "running", "shown": "running"}  # nothing holds it up here
    return check


def _counts(outcome: Outcome) -> dict[str, int]:
    """What ends or parks a job, or lets it queue again, stands in the log once or not at all."""
    ends = ("requeued", "not_requeued", "requeue_exhausted", "queue_timed_out", "declined")
    return {event: outcome.events.count(event) for event in ends}
