"""Two families for the whole window, never one; what moves, loads, saves or evaluates is left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from muster.fault_tolerance.core.hang import FIRST_STEP, TRAINING
from muster.fault_tolerance.core.hang_pace import Pace
from muster.fault_tolerance.core.hang_signs import Sign, Why
from muster.fault_tolerance.core.hang_track import Family
from tests.support.silence import EPOCH, POLL_S, Attempt, signals, worker

IDLE: dict[str, Any] = {"gpu": 0.0, "bytes_s": 0.0}
ASLEEP: dict[str, Any] = {"cores": 0.01}


def trained(**more: Any) -> Attempt:
    """An attempt that has made a step every 10 s for ten minutes."""
    attempt = Attempt(**more)
    return attempt.go(600, step_s=10, gpu=0.9, watts=4000, cores=1.0, bytes_s=1e6)


# --- two families --------------------------------------------------------------------------------


def test_no_step_and_an_idle_device_for_the_whole_window_is_a_hang() -> None:
    attempt = trained().go(600 - POLL_S, **IDLE)
    assert not attempt.hangs
    attempt.go(POLL_S, **IDLE)
    found = attempt.reading.suspicion
    assert found is not None
    assert found.seconds == 600
    assert {told.family for told in found.agreed} == {Family.PROGRESS, Family.DEVICE}


def test_no_step_and_processes_asleep_is_a_hang() -> None:
    assert trained().go(615, **ASLEEP).hangs


@pytest.mark.parametrize(
    "signs",
    [
        pytest.param({}, id="no step alone"),
        pytest.param({"step_s": 10, **IDLE}, id="an idle device alone"),
        pytest.param({"step_s": 10, **ASLEEP}, id="processes asleep alone"),
        pytest.param({"step_s": 10, **IDLE, **ASLEEP, "stacks": "x"}, id="all but progress"),
    ],
)
def test_one_family_alone_never_acts(signs: dict[str, Any]) -> None:
    assert not trained().go(7200, **signs).hangs


def test_the_second_family_must_be_still_for_the_whole_window() -> None:
    attempt = trained().go(600, gpu=0.9, watts=4000, cores=1.0).go(600 - POLL_S, **IDLE)
    assert not attempt.hangs
    assert attempt.go(POLL_S, **IDLE).hangs


def test_while_a_family_says_that_something_goes_on_people_are_told_after_the_cap() -> None:
    busy: dict[str, Any] = {**IDLE, "cores": 0.5, "stacks": "change"}
    attempt = trained().go(3600 - POLL_S, **busy)
    assert attempt.reading.told[1].sign is Sign.STILL
    assert attempt.reading.told[2].sign is Sign.MOVING
    assert not attempt.hangs
    found = attempt.go(POLL_S, **busy).reading.suspicion
    assert found is not None
    assert found.doubtful


def test_one_move_within_the_window_is_enough_to_doubt() -> None:
    attempt = trained().go(3600, **IDLE, **ASLEEP, stacks="x").go(POLL_S, stacks="y", **IDLE)
    found = attempt.go(POLL_S, **IDLE).reading.suspicion
    assert found is not None
    assert found.doubtful
    assert not Attempt().go(600, step_s=10).go(615, **IDLE, **ASLEEP).reading.suspicion.doubtful  # type: ignore[union-attr]


def test_signals_that_nobody_has_count_for_nothing() -> None:
    reading = trained().go(7200).reading
    assert reading.silent_s >= 7200
    assert [told.sign for told in reading.told[1:]] == [Sign.UNKNOWN] * 3


def test_a_job_that_never_tells_steps_needs_two_others() -> None:
    quiet = Attempt().go(3000, **IDLE)
    assert quiet.reading.silent_s > quiet.reading.limit_s
    assert not quiet.reading.proven
    assert not quiet.hangs
    both = Attempt().go(1800, **IDLE, **ASLEEP)
    assert not both.hangs
    assert both.go(POLL_S, **IDLE, **ASLEEP).hangs


def test_a_job_that_told_steps_in_an_earlier_attempt_is_expected_to() -> None:
    assert Attempt(tells=True).go(1830, **IDLE).hangs


# --- progress ------------------------------------------------------------------------------------


def test_a_heartbeat_without_a_new_step_is_no_progress() -> None:
    attempt = trained()
    for _ in range(40):
        attempt.go(POLL_S, **IDLE)
        assert attempt.track is not None
        again = attempt.track.last.signals.workers[0]
        attempt.see(signals(again.model_copy(update={"printed": 10**6}), step=attempt.step))
    assert attempt.reading.silent_s >= 600
    assert attempt.hangs


def test_the_first_step_may_take_half_an_hour() -> None:
    attempt = Attempt(tells=True).go(1800, **IDLE, **ASLEEP)
    assert attempt.reading.stage == FIRST_STEP
    assert not attempt.hangs
    assert attempt.go(POLL_S, **IDLE, **ASLEEP).hangs


@pytest.mark.parametrize("name", ["loading", "compile"])
def test_loading_and_compiling_may_take_two_hours(name: str) -> None:
    still = {**IDLE, **ASLEEP, "declared": name, "since": 0.0}
    attempt = Attempt(tells=True).go(7200, **still)
    assert attempt.reading.stage == name
    assert not attempt.hangs
    assert attempt.go(POLL_S, **still).hangs


@pytest.mark.parametrize(("name", "first"), [("checkpoint", 1800), ("evaluation", 3600)])
def test_a_declared_phase_has_a_time_of_its_own(name: str, first: int) -> None:
    still = {**IDLE, **ASLEEP, "declared": name, "since": 600.0}
    attempt = trained().go(first, **still)
    assert not attempt.hangs
    assert attempt.go(POLL_S, **still).hangs


def test_three_times_the_longest_evaluation_seen_is_no_hang() -> None:
    attempt = trained().go(1500, **IDLE, declared="evaluation").go(300, step_s=10, gpu=0.9)
    assert attempt.track is not None
    assert attempt.track.learned.longest["evaluation"] == pytest.approx(1500, abs=2 * POLL_S)
    longest = attempt.track.learned.longest["evaluation"]
    attempt.go(3 * longest, **IDLE, declared="evaluation")
    assert not attempt.hangs
    assert attempt.go(2 * POLL_S, **IDLE, declared="evaluation", since=2400.0).hangs


def test_a_phase_that_ends_is_progress_and_its_silence_begins_anew() -> None:
    attempt = trained().go(900, **IDLE, **ASLEEP, declared="evaluation")
    attempt.go(600, **IDLE, **ASLEEP)
    assert not attempt.hangs
    assert attempt.go(POLL_S, **IDLE, **ASLEEP).hangs


def test_slow_steps_are_no_hang_and_the_cap_is_one() -> None:
    slow = Attempt().go(6000, step_s=300, gpu=0.9, watts=4000)
    assert slow.track is not None
    assert slow.track.learned.p99 == pytest.approx(300, abs=POLL_S)
    window = slow.reading.window_s
    assert window == pytest.approx(1500, abs=5 * POLL_S)
    assert not slow.go(1500 - 5 * POLL_S, **IDLE).hangs
    assert slow.go(10 * POLL_S, **IDLE).hangs


# --- the attempt ---------------------------------------------------------------------------------


def test_marks_of_one_attempt_are_not_seen_in_the_next() -> None:
    first = trained().go(30, declared="checkpoint")
    first.attempt, first.step = 2, None
    second = first.go(1860, step_s=10, gpu=0.9, watts=4000)
    assert second.track is not None
    assert second.track.attempt == 2
    assert second.track.phase is None
    assert second.reading.stage == TRAINING
    assert not second.hangs


def test_a_late_sample_of_an_earlier_attempt_changes_nothing() -> None:
    attempt = trained(attempt=2)
    before = attempt.track
    attempt.at += POLL_S
    attempt.see(signals(worker(), attempt=1, step=1))
    assert attempt.track is before


def test_a_mark_whose_end_is_lost_ends_with_the_next_step() -> None:
    attempt = trained().go(7200, step_s=10, gpu=0.9, watts=4000, declared="checkpoint", since=600)
    assert attempt.track is not None
    assert attempt.track.phase is None
    assert not attempt.hangs
    assert not attempt.go(585, **IDLE, declared="checkpoint", since=600).hangs
    assert attempt.go(30, **IDLE, declared="checkpoint", since=600).hangs


def test_a_phase_that_is_told_together_with_a_step_has_just_begun() -> None:
    attempt = trained()
    attempt.at += POLL_S
    told = {"step": 999, "step_at": EPOCH, "declared": "evaluation", "declared_at": EPOCH}
    attempt.see(signals(worker(), **told))
    assert attempt.reading.stage == "evaluation"


def test_an_end_before_its_begin_leaves_a_mark_that_the_next_step_ends() -> None:
    attempt = trained().go(30, gpu=0.5).go(60, gpu=0.5, declared="checkpoint", since=615)
    assert attempt.reading.stage == "checkpoint"
    attempt.go(60, step_s=10, gpu=0.9, declared="checkpoint", since=615)
    assert attempt.reading.stage == TRAINING


def test_the_executors_clock_may_jump() -> None:
    attempt = trained()
    for jump in (-36_000.0, 36_000.0):
        assert attempt.step_at is not None
        attempt.step_at += jump
        attempt.go(300, step_s=10, gpu=0.9, watts=4000)
        assert not attempt.hangs
        attempt.go(585, **IDLE)
        assert not attempt.hangs
        attempt.go(60, step_s=10, gpu=0.9, watts=4000)


# --- unknown is not dead -------------------------------------------------------------------------


def test_a_hole_between_samples_begins_the_window_anew() -> None:
    attempt = trained().go(590, **IDLE)
    attempt.at += Pace().gap_s + 1
    attempt.go(600, **IDLE)
    assert not attempt.hangs
    assert attempt.go(POLL_S, **IDLE).hangs


def test_a_short_hole_does_not() -> None:
    attempt = trained().go(450, **IDLE)
    attempt.at += Pace().gap_s - POLL_S
    assert attempt.go(POLL_S, **IDLE).hangs


def test_a_family_that_falls_silent_for_long_begins_anew() -> None:
    attempt = trained().go(300, **IDLE).go(Pace().gap_s + POLL_S).go(450, **IDLE)
    assert attempt.reading.silent_s > 600
    assert not attempt.hangs


# --- one has ended, the others stay --------------------------------------------------------------


def test_a_worker_that_ended_well_while_the_others_wait_is_told_apart() -> None:
    attempt = trained(ranks=4).go(120, **ASLEEP, ended=[2])
    assert not attempt.hangs
    found = attempt.go(POLL_S, **ASLEEP, ended=[2]).reading.suspicion
    assert found is not None
    assert (found.exited, found.worker) == (True, "worker-2")


def test_one_that_still_saves_after_the_others_ended_is_left_alone() -> None:
    attempt = trained(ranks=2).go(1200, cores=0.05, bytes_s=1e8, ended=[1])
    assert not attempt.hangs


def test_workers_that_may_come_and_go_are_not_expected_to_end_together() -> None:
    assert not trained(ranks=4, together=False).go(300, **ASLEEP, ended=[2]).hangs


# --- traps ---------------------------------------------------------------------------------------


def test_a_full_device_near_idle_power_with_a_pulse_in_the_log_is_a_hang() -> None:
    """GPUs at 100 %, the collective spins, and a line an hour keeps the log alive."""
    attempt = trained(ranks=8).go(600, gpu=1.0, watts=1100, bytes_s=100.0, cores=1.0)
    found = attempt.reading.suspicion
    assert found is not None
    assert found.agreed[1].why is Why.DEVICE_SPINS


def test_a_full_device_that_draws_power_is_none() -> None:
    attempt = trained(ranks=8).go(3600, gpu=1.0, watts=3900, bytes_s=100.0, cores=1.0)
    assert not attempt.hangs


def test_sixty_three_spin_and_one_sleeps() -> None:
    attempt = trained(ranks=64).go(615, cores=lambda rank: 0.02 if rank == 17 else 0.98)
    found = attempt.reading.suspicion
    assert found is not None
    assert found.worker == "worker-17"
    assert found.agreed[1].why is Why.ONE_SLEEPS


def test_two_sleepers_name_nobody() -> None:
    attempt = trained(ranks=64).go(615, cores=lambda rank: 0.02 if rank < 2 else 0.98)
    assert not attempt.hangs


def test_an_odd_one_that_changes_is_none() -> None:
    attempt = trained(ranks=8)
    for turn in range(60):
        attempt.go(POLL_S, cores=partial(_sleeps, turn % 8))
    assert not attempt.hangs


def _sleeps(odd: int, rank: int) -> float:
    return 0.0 if rank == odd else 1.0


def test_heartbeats_answer_while_the_device_is_dead() -> None:
    """The process lives and prints; its GPU does nothing and nothing moves."""
    attempt = trained().go(615, cores=0.3, gpu=0.0, bytes_s=200.0)
    assert attempt.hangs


def test_an_evaluation_on_the_cpu_that_reads_is_left_until_the_cap() -> None:
    attempt = trained().go(900, gpu=0.0, bytes_s=1e7, cores=0.05)
    assert not attempt.hangs


def test_twenty_minutes_of_loading_at_the_start_are_no_hang() -> None:
    assert not Attempt().go(1200, **IDLE, **ASLEEP).hangs


def test_without_an_exporter_and_without_stacks_nobody_is_killed() -> None:
    assert not trained().go(86_400, cores=0.9).hangs


def test_a_rotated_log_alone_kills_nobody() -> None:
    """The output can be read no more; the training goes on."""
    assert not trained().go(86_400, gpu=0.9, watts=4000, cores=1.0, bytes_s=1e6).hangs


def test_a_collective_that_does_not_end_is_a_family_of_its_own() -> None:
    attempt = trained().go(600, collective=True)
    assert not attempt.hangs
    assert attempt.go(POLL_S, collective=True).hangs


def test_waiting_for_a_disk_names_the_one_that_does() -> None:
    attempt = trained(ranks=2).go(615, states="D", cores=lambda rank: 0.0 if rank else None)
    found = attempt.reading.suspicion
    assert found is not None
    assert (found.worker, found.agreed[1].why) == ("worker-1", Why.DISK)


# --- times on both sides -------------------------------------------------------------------------


def test_a_rehearsal_is_shorter_in_everything() -> None:
    pace = replace(Pace(), scale=0.01, gap_s=1e6)
    attempt = Attempt(window_s=600, pace=pace).go(10, step_s=1, gpu=0.9, poll_s=1)
    assert not attempt.go(5, **IDLE, poll_s=1).hangs
    assert attempt.go(2, **IDLE, poll_s=1).hangs
