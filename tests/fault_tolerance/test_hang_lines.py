"""What is written down of a suspicion, and which lines tell of a collective that does not end."""

from __future__ import annotations

import pytest

from muster.domain import hang_words
from muster.domain.diagnosis import TEXT
from muster.fault_tolerance.core.hang_lines import (
    LAST,
    LINES,
    Seen,
    collective,
    described,
    shown_workers,
)
from muster.fault_tolerance.core.hang_signs import Why
from muster.fault_tolerance.core.hang_track import Family
from tests.support.silence import Attempt, signals, worker


@pytest.mark.parametrize(
    "line",
    [
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for 600012",
        "node7:1:2 [0] NCCL WARN socketProgress: connection timed out",
        "[ERROR] HCCL: connect timeout, error code EI0006",
    ],
)
def test_lines_of_a_collective_that_does_not_end(line: str) -> None:
    assert collective(f"step=1\n{line}\nlater")


@pytest.mark.parametrize(
    "line",
    [
        "NCCL INFO Bootstrap timeout set to 600 s",
        "setting collective_timeout=1800",
        "PULSE: training is alive",
        "RuntimeError: data loader timed out",
    ],
)
def test_lines_that_tell_of_nothing(line: str) -> None:
    assert not collective(line)


def test_trouble_that_is_long_past_counts_no_more() -> None:
    text = "Watchdog caught collective operation timeout\n"
    assert collective(text + "step\n" * (LAST - 1))
    assert not collective(text + "step\n" * LAST)


def evidence(attempt: Attempt, **output: str) -> tuple[str, ...]:
    return tuple(line.en for line in seen(attempt, **output))


def seen(attempt: Attempt, **output: str) -> tuple[Seen, ...]:
    found, track = attempt.reading.suspicion, attempt.track
    assert found is not None
    assert track is not None
    return described(found, attempt.reading, track.last.signals, output)


def stuck(ranks: int) -> Attempt:
    attempt = Attempt(ranks=ranks).go(60, step_s=10)
    return attempt.go(630, cores=0.0, gpu=0.0, stacks=["x"] * (ranks - 1) + ["y"])


def test_the_most_telling_comes_first() -> None:
    lines = evidence(stuck(4), **{"worker-0": "a\n\nb\nc\nd\n"})
    assert lines[0].startswith("progress: training, step 6: nothing new for")
    assert lines[1].startswith("device: still for")
    assert "worker-3" in lines[2]
    assert lines[4:] == (
        "stack of worker-0 and 2 more: x",
        "stack of worker-3: y",
        "worker-0 printed: b",
        "worker-0 printed: c",
        "worker-0 printed: d",
    )


def test_it_is_bounded_and_printable() -> None:
    long = "\x1b[31m" + "x" * 1000
    lines = evidence(stuck(4), **{f"worker-{n}": f"{long}\n" * 9 for n in range(99)})
    assert len(lines) == LINES
    assert all(len(line) <= TEXT and line.isprintable() for line in lines)


def test_what_a_worker_says_of_its_place_is_told_in_words() -> None:
    attempt = stuck(1)
    told = signals(worker(stack="3f", standing="wait (dist.py:7)"), step=6)
    assert attempt.reading.suspicion is not None
    lines = described(attempt.reading.suspicion, attempt.reading, told, {})
    assert "stack of worker-0: wait (dist.py:7)" in [line.en for line in lines]


def test_everything_but_what_is_quoted_is_told_in_chinese() -> None:
    lines = [line.zh for line in seen(stuck(4), **{"worker-0": "loss 1"})]
    assert lines[0].startswith("进展：训练中，第 6 步：")
    assert lines[1:4] == [
        "设备：静止 630 秒：GPU 空闲且无数据流动",
        "进程：静止 615 秒：除一个外都停在同一位置（worker-3）",
        "框架：无法判断",
    ]
    assert lines[4:] == [
        "worker-0 及另外 2 个 Worker 的调用栈：x",
        "worker-3 的调用栈：y",
        "worker-0 输出：loss 1",
    ]


def test_every_code_that_evidence_may_hold_has_words() -> None:
    assert {why.value for why in Why if why} == set(hang_words.WHYS)
    assert {family.value for family in Family} == set(hang_words.FAMILIES)
    assert {"training", "first_step"} < set(hang_words.STAGES)


def test_whose_output_is_read() -> None:
    names = [f"worker-{n}" for n in range(5)]
    assert shown_workers(names, None) == ["worker-0", "worker-4"]
    assert shown_workers(names, "worker-2") == ["worker-0", "worker-4", "worker-2"]
    assert shown_workers(names, "worker-0") == ["worker-0", "worker-4"]
    assert shown_workers(["worker-0"], "gone-7") == ["worker-0"]
    assert shown_workers([], None) == []
