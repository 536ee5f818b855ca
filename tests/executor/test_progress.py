"""Did the training go on: every way to go on and to lose; cutting output changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.progress import Progress
from muster.domain.state import JobState
from muster.executor.core.lines import LINE, Reader
from muster.executor.core.progress import (
    Happened,
    Splitter,
    Stay,
    Summary,
    Verdict,
    judge,
    stays,
    summarise,
    total,
    worth_telling,
)
from tests.support.lives import START, Life

HOUR = timedelta(hours=1)
GPUS = 8
FRESH = ["step=10 loss=9", "step=20 loss=8"]
BEFORE = [*FRESH, "checkpoint saved: step=400", "step=490 loss=2", "step=500 loss=2"]


def told(*lines: str) -> Summary:
    return summarise(lines, Reader())


def stay(*lines: str, attempt: int = 1, hours: float = 10, **more: Any) -> Stay:
    """An attempt that ran so long, from START + (attempt - 1) days on."""
    began = START + (attempt - 1) * timedelta(days=1)
    return Stay(attempt, told(*lines), began, began + hours * HOUR, **more)


def again(progress: Progress | None = None) -> JobState:
    return Life().running().state.model_copy(update={"attempt": 2, "progress": progress})


def verdict(past: list[Stay], *lines: str, waited: bool = True, **more: Any) -> Verdict | None:
    return judge(past, told(*lines), again(**more), waited=waited)


LOADED = "checkpoint loaded: step=400 path=/c/400"

TABLE: list[tuple[str, list[str], list[str], bool | None]] = [
    ("loaded and goes on", BEFORE, [LOADED, "step=405"], True),
    ("goes on, and does not say that it loaded", BEFORE, ["step=401"], True),
    ("loaded, of an unknown step", BEFORE, ["=> loaded checkpoint 'x'", "step=400"], True),
    ("counts from 0: the step of the checkpoint", BEFORE, [LOADED, "step=400"], True),
    ("starts over", BEFORE, ["step=10"], False),
    ("loaded an older one", BEFORE, ["checkpoint loaded: step=200", "step=205"], False),
    ("says that it loaded, and counts anew", BEFORE, [LOADED, "step=10"], False),
    ("no checkpoint was ever told of: starts over", FRESH, ["step=10"], False),
    ("no checkpoint was ever told of: goes on", FRESH, ["step=15"], True),
    ("goes on where it was", FRESH, ["step=21"], True),
    ("weights only", FRESH, ["=> loaded checkpoint 'x'", "step=10"], False),
    ("nothing before", ["hello"], ["step=10"], None),
    ("only step 0 before", ["step=0"], ["step=0"], None),
    ("no step yet", BEFORE, [LOADED], None),
    ("nothing yet", BEFORE, [], None),
    ("another counter", BEFORE, [" 10%|# | 501/5000 [00:07<31:10]"], None),
    (
        "bars: what came to its end before was no training",
        ["100%|##| 900/900 [01:00<00:00]", " 8%|# | 400/5000 [00:07<31:10]"],
        ["  5%|# | 45/900 [00:07<31:10]", " 8%|# | 401/5000 [00:07<31:10]"],
        True,
    ),
    (
        "a bar that stands at 0 before it is moved",
        [" 8%|# | 400/5000 [00:07<31:10]"],
        ["  0%|  | 0/5000 [00:00<?]", " 8%|# | 401/5000 [00:07<31:10]"],
        True,
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "kept"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_went_on_or_not(before: list[str], after: list[str], kept: bool | None) -> None:
    found = verdict([stay(*before)], *after)
    assert (found.kept if found else None) is kept


def test_a_verdict_has_the_steps_the_line_and_what_was_lost() -> None:
    kept = verdict([stay(*BEFORE)], LOADED, "step=405")
    assert kept is not None
    assert (kept.step_before, kept.step_after, kept.checkpoint) == (500, 405, 400)
    assert kept.line == "checkpoint loaded: step=400 path=/c/400"
    assert kept.gpu_hours == pytest.approx(GPUS * 10 * 100 / 490, abs=1e-3)

    lost = verdict([stay(*BEFORE)], "step=10")
    assert lost is not None
    assert (lost.step_before, lost.step_after, lost.checkpoint) == (500, 10, 400)
    assert (lost.line, lost.gpu_hours) == ("step=10", GPUS * 10)


def test_what_was_lost_counts_from_when_a_checkpoint_was_heard_of() -> None:
    heard = ((400, START + 9 * HOUR),)
    found = verdict([stay(*BEFORE, saved=heard)], LOADED, "step=401")
    assert found is not None
    assert found.gpu_hours == GPUS * 1


def test_nothing_is_called_lost_before_the_loaded_line_had_its_time() -> None:
    past = [stay(*BEFORE)]
    assert verdict(past, "step=10", waited=False) is None
    assert verdict(past, LOADED, "step=10", waited=False) is not None
    assert verdict(past, "step=401", waited=False) is not None


def test_over_several_attempts_work_is_counted_once() -> None:
    """0-500, on from 400 to 700, then from the start: 400 steps of the first, 300 of the second."""
    second = stay(LOADED, "step=400", "step=700", attempt=2, hours=3)
    found = verdict([stay("step=0", *BEFORE, hours=5), second], "step=0")
    assert found is not None
    assert (found.step_before, found.step_after, found.checkpoint) == (700, 0, 400)
    assert found.gpu_hours == pytest.approx(GPUS * (5 * 400 / 500 + 3))


def test_the_newest_checkpoint_counts_not_the_highest() -> None:
    """The second attempt began anew and saved step 40: going on from there loses nothing more."""
    second = stay(*FRESH, "checkpoint saved: step=40", "step=60", attempt=2)
    found = verdict([stay(*BEFORE), second], "checkpoint loaded: step=40", "step=45")
    assert found is not None
    assert (found.kept, found.step_before, found.checkpoint) == (True, 60, 40)


def test_attempts_without_a_word_change_nothing() -> None:
    past = [stay(*BEFORE), Stay(2, Summary()), stay("no room in /dev/shm", attempt=3)]
    found = verdict(past, LOADED, "step=405")
    assert found == verdict(past[:1], LOADED, "step=405")


def test_without_earlier_output_the_log_still_knows() -> None:
    known = Progress(step=480, checkpoint_step=400, checkpointed_at=START)
    kept = verdict([], LOADED, "step=405", progress=known)
    lost = verdict([], "step=1", progress=known)
    assert kept is not None
    assert lost is not None
    assert (kept.kept, kept.step_before, kept.checkpoint) == (True, 480, 400)
    assert (lost.kept, lost.step_before) == (False, 480)
    assert verdict([], "step=1") is None


def test_history_says_when_attempts_ran() -> None:
    def at(seconds: float) -> datetime:
        return START + timedelta(seconds=seconds)

    history = [
        Happened(1, f.Launching(attempt=1), at(0)),
        Happened(1, f.Started(attempt=1), at(5)),
        Happened(1, f.CheckpointSaved(attempt=1, step=40), at(50)),
        Happened(1, f.Signalled(attempt=1), at(80)),
        Happened(1, f.Released(attempt=1), at(90)),
        Happened(2, f.Released(attempt=2), at(95)),
        Happened(3, f.Started(attempt=3), at(100)),
    ]
    expected = Stay(1, told("step=3"), at(5), at(80), ((40, at(50)),))
    assert stays(history, {1: told("step=3")}, 3) == [expected]


def test_a_saved_checkpoint_is_told_when_it_is_newer_and_a_minute_has_passed() -> None:
    saved = told("checkpoint saved: step=40")
    state = Life().running().state

    def with_(step: int | None, ago: float) -> JobState:
        known = Progress(
            step=9, checkpoint_step=step, checkpointed_at=START - timedelta(seconds=ago)
        )
        return state.model_copy(update={"progress": known})

    assert worth_telling(state, saved, START)
    assert not worth_telling(state, told("step=9"), START)
    assert worth_telling(with_(39, 60), saved, START)
    assert not worth_telling(with_(39, 59.9), saved, START)
    assert not worth_telling(with_(40, 3600), saved, START)
    assert worth_telling(with_(None, 3600), saved, START)


# --- however the output is cut -------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *BEFORE,
        LOADED,
        "=> loaded checkpoint 'x'",
        "checkpoint saved: step=41",
        "step=7 loss=1",
        " 10%|#  | 501/5000 [00:07<31:10]",
        "Epoch: [3][ 100/5005] Time",
        "显存 ok",
        "",
        "x" * (LINE + 3) + " step=3",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(st.data(), st.lists(st.tuples(WORDS, ENDS), max_size=30))
def test_output_cut_anywhere_tells_the_same(
    data: st.DataObject, lines: list[tuple[str, str]]
) -> None:
    text = "".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    splitter, cut = Splitter(), Summary()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        cut = summarise(splitter.feed(text[start:end]), Reader(), cut)
    whole = summarise([line for line, _ in lines if line], Reader())
    assert cut == whole
    past = [stay(*BEFORE)]
    assert judge(past, cut, again(), waited=True) == judge(past, whole, again(), waited=True)


@given(st.lists(st.lists(WORDS, max_size=6), max_size=4), st.randoms())
def test_workers_are_added_up_in_any_order(workers: list[list[str]], dice: Any) -> None:
    summaries = [told(*lines) for lines in workers]
    shuffled = list(summaries)
    dice.shuffle(shuffled)
    one, other = total(summaries), total(shuffled)
    past = [stay(*BEFORE)]
    first, second = (judge(past, each, again(), waited=True) for each in (one, other))
    assert (one.loaded_step, one.saved, one.steps) == (other.loaded_step, other.saved, other.steps)
    assert (first is None) == (second is None)
    if first and second:
        assert (first.kept, first.step_after) == (second.kept, second.step_after)
