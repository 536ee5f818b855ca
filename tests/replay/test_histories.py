"""Recorded histories still are read, fold to the states they carry, and are decided the same.

When one of these fails, a log that somebody has would be read differently: write an upcaster, or
keep the old rule for old events. Never record a history anew.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.contracts.events import JobEvent, read_event
from muster.domain import facts as f
from muster.domain.edges import EDGES, Owner
from muster.domain.evolve import evolve, fold
from muster.domain.facts import FACTS
from muster.domain.sentences import sentence
from muster.domain.state import DeadlineKind, JobState
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core.decide import Round, on_deadline, on_release
from tests.replay.make_histories import FOLDER, HISTORIES

FILES = sorted(FOLDER.glob("*.jsonl"))

histories = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


def history(path: Path) -> list[JobEvent]:
    """Read a recorded history as the log would be read."""
    lines = path.read_bytes().splitlines()
    return [read_event(json.loads(line)["subject"], line) for line in lines]


def meant(state: JobState) -> dict[str, Any]:
    """Return a state without the words of its reasons, which may be put better one day."""
    worded: set[str] = {"en", "zh"}
    return state.model_dump(exclude={"reason": worded, "outcome": {"reason": worded}})


@histories
def test_each_event_carries_what_the_log_folds_to(path: Path) -> None:
    state: JobState | None = None
    for number, event in enumerate(history(path), 1):
        owner = Owner(event.source.removeprefix("muster/"))
        state = evolve(state, event.data.detail, event.time, owner)
        assert meant(state) == meant(event.data.job), f"{path.name}:{number}"
        assert state.version == number
    assert state is not None
    assert state == fold((e.data.detail, e.time) for e in history(path))


ANEW = {
    ("ray_with_faults", 17): "a hang is paid for from a ledger of its own",
    ("ray_with_faults", 21): "the reason tells that a lost node costs no retry",
}
"""Decisions that are meant to be others today: (history, number of the event) -> why."""


def differences(path: Path) -> list[str]:
    """Every decision of requeue and fault tolerance that would be another one today.

    A decision may be worded and explained anew: what follows from it does not depend on that.
    """
    events = history(path)
    found = []
    for number in range(1, len(events)):
        before, event = events[number - 1].data.job, events[number]
        decided = _decide(events[:number], before, event)
        if decided is None or (path.stem, number + 1) in ANEW:
            continue
        if _essence(decided) != _essence(event.data.detail):
            found.append(f"{path.name}:{number + 1}: {decided!r}")
    return found


def _essence(fact: f.Fact) -> tuple[str, dict[str, Any]]:
    return fact.event, fact.model_dump(exclude={"reason": {"en", "zh"}, "diagnosis": True})


def _decide(past: list[JobEvent], before: JobState, event: JobEvent) -> f.Fact | None:
    match event.source:
        case "muster/requeue":
            return on_release(before) or _over(before, len(past))
        case "muster/fault-tolerance" if event.data.detail.event not in {"hung", "hang_suspected"}:
            evidence = past[-1].data.detail
            found = by_event(before, evidence, event.time)
            if event.data.detail.event == "escalated":  # nobody could read the evidence
                found = by_event(before, None, event.time)
            return found or pytest.fail(f"{event.subject}: no verdict on {evidence!r}")
    return None


def _over(before: JobState, seq: int) -> f.Fact:
    kind = DeadlineKind.QUEUE if before.demand.queue else DeadlineKind.ROUND
    due = before.deadlines[kind]
    early, late = due - timedelta(microseconds=1), Round(at=due, upto=seq)
    assert on_deadline(before, seq, early, late) is None
    return on_deadline(before, seq, due, late) or pytest.fail(f"{before.job}: {kind} is not over")


@histories
def test_requeue_and_fault_tolerance_decide_as_they_did(path: Path) -> None:
    assert differences(path) == []


@histories
def test_each_event_was_written_by_an_owner_and_still_has_its_sentences(path: Path) -> None:
    for event in history(path):
        fact = event.data.detail
        assert Owner(event.source.removeprefix("muster/")) in EDGES[fact.event].owners
        assert all(sentence(fact))


def test_every_event_and_every_decision_stands_in_a_history() -> None:
    told = {event.data.detail.event for path in FILES for event in history(path)}
    assert set(FACTS) - told == set()


def test_every_recorded_history_is_there() -> None:
    assert {make.__name__ for make in HISTORIES} <= {path.stem for path in FILES}


def test_a_change_of_the_past_is_seen(tmp_path: Path) -> None:
    path = FOLDER / "preempted_without_auto_queue.jsonl"
    lines = path.read_bytes().replace(b'"priority":50', b'"priority":51', 1)
    other = tmp_path / path.name
    other.write_bytes(lines)
    with pytest.raises(AssertionError, match=path.name):
        test_each_event_carries_what_the_log_folds_to(other)


def test_another_decision_is_seen(tmp_path: Path) -> None:
    path = FOLDER / "preempted_without_auto_queue.jsonl"
    lines = path.read_bytes().splitlines()
    lines[-1] = lines[-1].replace(b'"cause":"quota_reclaim"', b'"cause":"priority"')
    other = tmp_path / path.name
    other.write_bytes(b"\n".join(lines))
    assert len(differences(other)) == 1
