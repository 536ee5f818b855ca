"""What must hold of hang detection whatever the signals say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.evidence import JobSignals
from muster.fault_tolerance.core.hang import Reading, judge
from muster.fault_tolerance.core.hang_signs import Sign
from muster.fault_tolerance.core.hang_track import Family, Sample, Track, observe
from tests.support.silence import EPOCH, Attempt, signals, worker

RANKS = 3
PATIENT = settings(deadline=None)  # a machine may be busy with other things
_signs = st.fixed_dictionaries(
    {
        "cpu_s": st.one_of(st.none(), st.floats(0, 100)),
        "moved": st.one_of(st.none(), st.integers(0, 10**6)),
        "gpu": st.one_of(st.none(), st.sampled_from((0.0, 0.5, 1.0))),
        "gpu_watts": st.one_of(st.none(), st.sampled_from((100.0, 5000.0))),
        "stack": st.one_of(st.none(), st.sampled_from(("x", "y"))),
        "state": st.one_of(st.none(), st.sampled_from(("R", "S", "D"))),
    }
)
_told = st.fixed_dictionaries(
    {
        "step": st.one_of(st.none(), st.integers(0, 5)),
        "declared": st.one_of(st.none(), st.sampled_from(("checkpoint", "evaluation", "loading"))),
        "declared_at": st.one_of(st.none(), st.integers(0, 9)),
        "step_at": st.one_of(st.none(), st.integers(0, 9)),
        "workers": st.lists(_signs, min_size=RANKS, max_size=RANKS),
        "passed": st.sampled_from((15.0, 60.0, 140.0, 151.0)),
        "collective": st.one_of(st.none(), st.booleans()),
    }
)
_stories = st.lists(_told, min_size=1, max_size=60)


def samples(story: list[dict[str, Any]]) -> list[Sample]:
    at, found = 0.0, []
    for each in story:
        at += each["passed"]
        found.append(Sample(at, _signals(each), each["collective"]))
    return found


def _signals(each: dict[str, Any]) -> JobSignals:
    told = {
        "step": each["step"],
        "declared": each["declared"],
        "step_at": _instant(each["step_at"]),
        "declared_at": _instant(each["declared_at"]) if each["declared"] else None,
    }
    return signals(*(worker(n, **signs) for n, signs in enumerate(each["workers"])), **told)


def _instant(second: int | None) -> object:
    return None if second is None else EPOCH + timedelta(seconds=second)


def tracks(found: list[Sample]) -> Iterator[Track]:
    """Yield what is known after each sample."""
    attempt, track = Attempt(), None
    for sample in found:
        track = observe(track, sample, {"worker": 8}, attempt.pace, attempt.marks)
        yield track


def seen(found: list[Sample]) -> Track:
    *_, last = tracks(found)
    return last


def readings(story: list[dict[str, Any]], attempt: Attempt) -> Iterator[Reading]:
    """Yield how it looks after each sample."""
    return (judge(track, attempt.subject, attempt.pace) for track in tracks(samples(story)))


@PATIENT
@given(_stories)
def test_a_job_that_makes_progress_within_its_window_is_never_called_hung(
    story: list[dict[str, Any]],
) -> None:
    attempt, step, silent = Attempt(window_s=600), 0, 0.0
    for each in story:
        silent += each["passed"]
        if silent >= 600 or each["step"] == 0:
            step, silent = step + 1, 0.0
        each["step"] = step
    assert not any(each.suspicion for each in readings(story, attempt))


@PATIENT
@given(_stories, st.sampled_from(("DEVICE", "PROCESS", "FRAMEWORK", "PROGRESS")))
def test_one_family_alone_never_acts(story: list[dict[str, Any]], only: str) -> None:
    for number, each in enumerate(story):
        _silence_others(each, Family[only], number)
    attempt = Attempt(tells=True)
    assert not any(each.suspicion for each in readings(story, attempt))


def _silence_others(each: dict[str, Any], only: Family, number: int) -> None:
    if only is not Family.PROGRESS:
        each["step"] = number
    if only is not Family.FRAMEWORK:
        each["collective"] = None
    for signs in each["workers"]:
        if only is not Family.DEVICE:
            signs["gpu"] = None
        if only is not Family.PROCESS:
            signs.update(cpu_s=None, stack=None, state=None)


@PATIENT
@given(_stories)
def test_a_suspicion_always_has_progress_and_another_that_are_still(
    story: list[dict[str, Any]],
) -> None:
    for each in story:
        each.update(step=1, declared=None, passed=140.0)
    attempt = Attempt()
    reading = judge(seen(samples(story)), attempt.subject, attempt.pace)
    if reading.suspicion is not None:
        families = {told.family for told in reading.suspicion.agreed}
        assert Family.PROGRESS in families
        assert len(families) >= 2
        assert all(told.sign is Sign.STILL for told in reading.suspicion.agreed)
        assert reading.silent_s >= reading.limit_s


@PATIENT
@given(_stories, st.data())
def test_samples_that_come_again_or_late_change_nothing(
    story: list[dict[str, Any]], data: st.DataObject
) -> None:
    found = samples(story)
    disturbed: list[Sample] = []
    for sample in found:
        disturbed.append(sample)
        earlier = data.draw(st.lists(st.sampled_from(disturbed), max_size=2))
        disturbed += earlier
    assert seen(disturbed) == seen(found)


@PATIENT
@given(_stories)
def test_without_any_sign_but_steps_nothing_is_ever_called_hung(
    story: list[dict[str, Any]],
) -> None:
    for each in story:
        each.update(workers=[{} for _ in range(RANKS)], collective=None, passed=140.0)
    attempt = Attempt(tells=True)
    assert judge(seen(samples(story)), attempt.subject, attempt.pace).suspicion is None


@PATIENT
@given(_stories, st.integers(-(10**6), 10**6))
def test_the_executors_clock_may_show_anything(story: list[dict[str, Any]], off: int) -> None:
    """Its instants only say which of a mark and a step came later."""
    moved = [
        {**each, **{key: None if each[key] is None else each[key] + off for key in _INSTANTS}}
        for each in story
    ]
    attempt = Attempt()
    one, other = seen(samples(story)), seen(samples(moved))
    assert judge(one, attempt.subject, attempt.pace) == judge(other, attempt.subject, attempt.pace)


_INSTANTS = ("step_at", "declared_at")
