"""What is read of a log: a terminal's view, without prefixes, and with the frames marked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.fault_tolerance.core.lines import LENGTH, TAIL, lines

NEAR = datetime(2026, 1, 2, tzinfo=UTC)
ERROR = "RuntimeError: it broke"


def told(text: str) -> list[str]:
    return [line.text for line in lines(text) if not line.frame and not line.late]


@pytest.mark.parametrize(
    "before",
    [
        "[rank3]: ",
        "[rank 3]: ",
        "[default0]:",
        "[1,3]<stderr>: ",
        "(TrainWorker pid=12, ip=10.0.0.1) ",
        "(pid=77) ",
        "  3: ",
        "[worker-0] ",
        "2026-02-13T23:23:41.123456789Z stderr F ",
        "2026-02-13 23:23:41,123 - ERROR - ",
        "2026-02-13 23:23:41,123 - trainer - ERROR - ",
        "[2026-02-13 23:23:41,123] [ERROR] [launch.py:331:sigkill_handler] ",
        "2026/02/13 23:23:41 ",
        "[ERROR|trainer.py:344] 2026-02-13 23:23:41,123 >> ",
        "ERROR: ",
        "[rank3]:[E1130 23:23:41.123456 ProcessGroupNCCL.cpp:616] ",
        "[rank3]:[E1130 23:23:41.123456789 ProcessGroupNCCL.cpp:616] ",
        "Nov 30 23:23:41 node-7 kernel: ",
        "[Mon Nov 30 23:23:41 2026] ",
        "[12345.678901] ",
        "<3>[  123.456789] ",
        "kernel: [12345.678901] ",
        "\x1b[31m",
        " 20%|##        | 2/10 [00:01<00:04,  2.0it/s]",
        " 10%|#         | 1/10 [00:01<00:04]\r 20%|##        | 2/10 [00:01<00:04]\r",
        "\x00\x08",
    ],
)
def test_what_stands_before_a_message_is_taken_off(before: str) -> None:
    assert told(before + ERROR) == [ERROR]


@pytest.mark.parametrize(
    "line",
    [
        ERROR,
        "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        "Error: cannot open",
        "bash: line 1: foo: command not found",
        "3 workers died",
        "iteration 3: loss 2.0",
        "10.0.0.1: unreachable",
    ],
)
def test_a_message_stays_whole(line: str) -> None:
    assert told(line) == [line]


@pytest.mark.parametrize(
    ("before", "at"),
    [
        ("2026-02-13T23:23:41.5Z ", datetime(2026, 2, 13, 23, 23, 41, 500_000, UTC)),
        ("2026-02-13T23:23:41+08:00 ", datetime(2026, 2, 13, 15, 23, 41, 0, UTC)),
        ("[2026-02-13 23:23:41,123] ", datetime(2026, 2, 13, 23, 23, 41, 123_000, UTC)),
        ("I0101 03:04:05.000006 77 a.cc:3] ", datetime(2026, 1, 1, 3, 4, 5, 6, UTC)),
        # of the year before: what is near is the beginning of January
        ("[E1231 23:59:59 a.cpp:3] ", datetime(2025, 12, 31, 23, 59, 59, 0, UTC)),
        ("Jan  1 03:04:05 n1 kernel: ", datetime(2026, 1, 1, 3, 4, 5, 0, UTC)),
        ("[Thu Jan  1 03:04:05 2026] ", datetime(2026, 1, 1, 3, 4, 5, 0, UTC)),
        ("2026-13-45 23:23:41 ", None),
        ("I0230 03:04:05.000006 77 a.cc:3] ", None),
        ("[12345.678901] ", None),
        ("", None),
    ],
)
def test_a_time_at_the_start_is_told(before: str, at: datetime | None) -> None:
    assert next(lines(before + ERROR, NEAR)).at == at


def test_without_a_year_nothing_is_guessed() -> None:
    assert next(lines("E1130 23:23:41 a.cpp:3] " + ERROR)).at is None


def test_a_year_is_chosen_in_the_next_january_too() -> None:
    near = datetime(2025, 12, 31, 23, tzinfo=UTC)
    line = next(lines("[E0101 00:00:30 a.cpp:3] x", near))
    assert line.at is not None
    assert line.at - near < timedelta(days=1)


TRACEBACK = """\
Traceback (most recent call last):
  File "/w/train.py", line 3, in main
    raise RuntimeError("CUDA out of memory")
    ^^^^^^^^^^^^^^^^^^
ValueError: no"""


def test_of_a_traceback_only_the_exception_counts() -> None:
    assert told(TRACEBACK) == ["ValueError: no"]


def test_the_tracebacks_of_two_ranks_may_be_mixed() -> None:
    first, second = TRACEBACK.split("\n"), TRACEBACK.replace("ValueError", "KeyError").split("\n")
    mixed = [
        f"[rank{rank}]: {line}"
        for pair in zip(first, second, strict=True)
        for rank, line in enumerate(pair)
    ]
    assert told("\n".join(mixed)) == ["ValueError: no", "KeyError: no"]


def test_what_is_raised_while_shutting_down_came_too_late() -> None:
    noise = f"Exception ignored in: <function Iter.__del__ at 0x7f>\n{TRACEBACK}"
    assert told(f"{noise}\n{ERROR}") == [
        "Exception ignored in: <function Iter.__del__ at 0x7f>",
        ERROR,
    ]


def test_the_box_of_a_pretty_traceback_is_no_message() -> None:
    assert told(f"╭─ Traceback ─╮\n│ raise ValueError('x') │\n╰──╯\n{ERROR}") == [ERROR]


def test_only_the_end_is_read_and_the_numbers_stay_right() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 20_001))
    read = list(lines(text))
    assert sum(len(line.text) + 1 for line in read) <= TAIL + 1
    assert [(line.text, line.number) for line in read[:1]] == [
        (f"line {read[0].number}", read[0].number)
    ]
    assert read[-1].number == 20_000


def test_a_line_longer_than_all_that_is_read_is_read_from_the_cut() -> None:
    assert [line.number for line in lines("x" * (TAIL + 10))] == [1]


@pytest.mark.parametrize(("length", "kept"), [(LENGTH, LENGTH), (LENGTH + 1, LENGTH)])
def test_a_line_is_read_up_to_a_length(length: int, kept: int) -> None:
    (line,) = lines("a" * (length - 1) + "z")
    assert len(line.text) == kept
    assert line.text.endswith("z")


PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):",
        '  File "a", line 1, in b',
        "Exception ignored in: <x>",
        "[rank3]: ",
        "2026-02-30 99:99:99 ",
        "E0230 23:59:59.9 a.cc:3] ",
        "\r 5%|# | 1/2 [",
        "\x1b[31m",
        "\x1b]0;",
        "│",
        "\n",
        "\r\n",
        "RuntimeError: x",
        "<3>[1.234567] ",
        "(pid=1, ip=::1) ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=30), st.sampled_from([None, NEAR]))
def test_any_text_is_read_and_every_line_has_its_own_number(
    parts: list[str], near: datetime | None
) -> None:
    text = "".join(parts)
    read = list(lines(text, near))
    numbers = [line.number for line in read]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= text.count("\n") + 1 for number in numbers)
    assert all(len(line.text) <= LENGTH and "\n" not in line.text for line in read)
