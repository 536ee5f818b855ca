"""Where processes stand: equal places are equal, and words that a person can read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from muster.executor.backends.local import stacks
from muster.executor.backends.local.stacks import frames, spoken, standing


def frame(name: str, line: int) -> dict[str, Any]:
    return {"name": name, "filename": f"/app/{name}.py", "line": line}


MAIN = {"thread_name": "MainThread", "frames": [frame("all_reduce", 12), frame("train", 88)]}
PULSE = {"thread_name": "pulse", "frames": [frame("wait", n) for n in range(9)]}


def test_the_order_of_threads_does_not_matter() -> None:
    assert frames([MAIN, PULSE]) == frames([PULSE, MAIN])


def test_a_line_further_is_another_place() -> None:
    moved = {**MAIN, "frames": [frame("all_reduce", 13), frame("train", 88)]}
    assert frames([MAIN]) != frames([moved])


def test_the_main_thread_is_told_in_words_the_innermost_first() -> None:
    assert spoken([PULSE, MAIN]) == "all_reduce (all_reduce.py:12) < train (train.py:88)"


def test_without_a_main_thread_the_deepest_is_told_shortened() -> None:
    assert spoken([{**MAIN, "thread_name": "t1"}, PULSE]).count("<") == stacks.FRAMES - 1
    assert spoken([]) == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux: /proc")
def test_one_that_waits_stands_where_it_stood() -> None:
    program = "print(flush=True); input()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = [standing([process.pid]) for _ in range(2)]
        process.communicate(b"\n")
    assert found[0] is not None
    assert found[0] == found[1]
    assert found[0].words


def test_of_a_process_that_is_gone_nobody_can_say() -> None:
    assert standing([2**22 + 1]) is None
