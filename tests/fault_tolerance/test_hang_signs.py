"""What devices and processes say between two samples, on both sides of every mark."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain.evidence import WorkerSignals
from muster.fault_tolerance.core.hang_signs import (
    Marks,
    Pair,
    Says,
    Sign,
    Why,
    device,
    pairs,
    process,
)
from tests.support.silence import signals, worker

MARKS = Marks()
GPUS = {"worker": 8}
MOVING, STILL, UNKNOWN = Sign.MOVING, Sign.STILL, Sign.UNKNOWN


def between(*workers: tuple[WorkerSignals, WorkerSignals], seconds: float = 10.0) -> list[Pair]:
    before, now = signals(*(w[0] for w in workers)), signals(*(w[1] for w in workers))
    return pairs(before, now, seconds)


def rank(
    number: int = 0, cores: float | None = None, moved: float = 0.0, **signs: Any
) -> tuple[WorkerSignals, WorkerSignals]:
    """Two samples of one worker, ten seconds apart."""
    before: dict[str, Any] = {"cpu_s": None if cores is None else 100.0, "moved": 1000, **signs}
    now = {**before, "cpu_s": None if cores is None else 100.0 + cores * 10}
    now["moved"] = 1000 + int(moved * 10)
    return worker(number, **before), worker(number, **now)


def of_device(*ranks: tuple[WorkerSignals, WorkerSignals], **usual: float) -> Says:
    return device(between(*ranks), GPUS, usual, MARKS)


@pytest.mark.parametrize(
    ("signs", "sign", "why"),
    [
        ({"gpu": 0.05}, STILL, Why.DEVICE_IDLE),
        ({"gpu": 0.06}, MOVING, Why.DEVICE_WORKS),
        ({"gpu": 0.94, "gpu_watts": 100}, MOVING, Why.DEVICE_WORKS),
        ({"gpu": 0.95, "gpu_watts": 1200}, STILL, Why.DEVICE_SPINS),
        ({"gpu": 0.95, "gpu_watts": 1201}, MOVING, Why.DEVICE_WORKS),
        ({"gpu": 1.0}, UNKNOWN, Why.SILENT),
        ({}, UNKNOWN, Why.SILENT),
        ({"gpu": 0.0, "moved": 16384}, MOVING, Why.BYTES_MOVE),
        ({"gpu": 0.0, "moved": 16383}, STILL, Why.DEVICE_IDLE),
    ],
)
def test_one_device(signs: dict[str, Any], sign: Sign, why: Why) -> None:
    says = of_device(rank(**signs))
    assert (says.sign, says.why) == (sign, why)


def test_half_of_the_usual_draw_is_near_idle_where_it_is_known() -> None:
    spins = rank(gpu=1.0, gpu_watts=2000)
    usual = {"worker-0": 4000.0}
    assert device(between(spins), GPUS, usual, MARKS).sign is STILL
    works = rank(gpu=1.0, gpu_watts=2001)
    assert device(between(works), GPUS, usual, MARKS).sign is MOVING


def test_one_that_moves_is_enough_and_half_must_be_known_to_be_still() -> None:
    still, works, silent = rank(0, gpu=0.0), rank(1, gpu=0.5), rank(2)
    assert of_device(still, works).sign is MOVING
    assert of_device(still, rank(1)).sign is STILL
    assert of_device(still, rank(1), silent).sign is UNKNOWN


def test_a_job_without_gpus_has_no_device() -> None:
    assert device(between(rank(gpu=0.0)), {"worker": 0}, {}, MARKS).sign is UNKNOWN


@pytest.mark.parametrize(
    ("cores", "sign"), [(0.0, STILL), (0.1, STILL), (0.11, UNKNOWN), (1.0, UNKNOWN)]
)
def test_one_process(cores: float, sign: Sign) -> None:
    assert process(between(rank(cores=cores)), MARKS).sign is sign


def test_all_must_be_known_to_sleep() -> None:
    assert process(between(rank(0, cores=0.0), rank(1)), MARKS).sign is UNKNOWN


@pytest.mark.parametrize(
    ("sleeper", "spinner", "sign"),
    [(0.1, 0.8, STILL), (0.11, 0.8, UNKNOWN), (0.1, 0.79, UNKNOWN)],
)
def test_all_spin_but_one(sleeper: float, spinner: float, sign: Sign) -> None:
    both = between(rank(0, cores=spinner), rank(1, cores=sleeper), rank(2, cores=spinner))
    says = process(both, MARKS)
    assert says.sign is sign
    assert says.worker == ("worker-1" if sign is STILL else None)


def test_two_are_too_few_to_name_the_odd_one() -> None:
    assert process(between(rank(0, cores=1.0), rank(1, cores=0.0)), MARKS).sign is UNKNOWN


def test_roles_are_compared_with_themselves_only() -> None:
    head = (worker(0, worker="head-0", cpu_s=0.0), worker(0, worker="head-0", cpu_s=0.0))
    both = between(head, *(rank(n, cores=1.0) for n in range(4)))
    assert process(both, MARKS).sign is UNKNOWN


def stacks(*changes: tuple[str | None, str | None]) -> Says:
    ranks = [(worker(n, stack=a), worker(n, stack=b)) for n, (a, b) in enumerate(changes)]
    return process(between(*ranks), MARKS)


@pytest.mark.parametrize(
    ("changes", "sign", "why", "who"),
    [
        ([("x", "x")], STILL, Why.SAME_PLACE, None),
        ([("x", "y")], MOVING, Why.PLACES_CHANGE, None),
        ([("x", "x")] * 4, STILL, Why.SAME_PLACE, None),
        ([("x", "x")] * 3 + [("y", "y")], STILL, Why.ONE_ELSEWHERE, "worker-3"),
        ([("x", "x")] * 2 + [("y", "y")] * 2, UNKNOWN, Why.SILENT, None),
        ([("x", "x"), ("y", "y")], UNKNOWN, Why.SILENT, None),
        ([("x", "x")] * 3 + [("x", "y")], UNKNOWN, Why.SILENT, None),
        ([("x", "x")] * 2 + [("x", "y")] * 2, UNKNOWN, Why.SILENT, None),
        ([("x", "x")] + [("x", "y")] * 2, MOVING, Why.PLACES_CHANGE, None),
        ([("x", "x")] * 2 + [(None, "x")] * 2, STILL, Why.SAME_PLACE, None),
        ([("x", "x")] + [(None, "x")] * 2, UNKNOWN, Why.SILENT, None),
    ],
)
def test_places(
    changes: list[tuple[str | None, str | None]], sign: Sign, why: Why, who: str | None
) -> None:
    assert stacks(*changes) == Says(sign, why, who)


def test_places_that_change_say_more_than_a_cpu_that_sleeps() -> None:
    before, now = rank(cores=0.0)
    both = between(
        (before.model_copy(update={"stack": "x"}), now.model_copy(update={"stack": "y"}))
    )
    assert process(both, MARKS).sign is MOVING


@pytest.mark.parametrize(("state", "sign"), [("D", STILL), ("S", UNKNOWN), ("R", UNKNOWN)])
def test_waiting_for_a_disk(state: str, sign: Sign) -> None:
    both = between(rank(0, cores=0.0, state=state), rank(1))
    assert process(both, MARKS).sign is sign


def test_a_counter_that_runs_backwards_says_nothing() -> None:
    assert process(between((worker(cpu_s=5.0), worker(cpu_s=1.0))), MARKS).sign is UNKNOWN


def test_only_who_lived_in_both_samples_is_compared() -> None:
    before = signals(worker(0), worker(1, alive=False, exit_code=0))
    now = signals(worker(0), worker(1), worker(2))
    assert [pair.now.worker for pair in pairs(before, now, 1.0)] == ["worker-0"]
