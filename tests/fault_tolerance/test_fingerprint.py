"""The same failure has the same name in every run; another has another."""

from __future__ import annotations

import pytest

from muster.domain.diagnosis import Stage
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.fingerprint import LENGTH, fingerprint, normalised
from tests.fault_tolerance.failures import BOOK, failure, worker

TAIL = """\
step 100 loss 2.5
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/li/train.py", line 31, in main
[rank3]:     model(batch)
[rank3]:   File "/usr/lib/python3.11/site-packages/torch/nn/module.py", line 1, in _call
[rank3]:     return forward()
[rank3]: KeyError: 'shard-17'
"""


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("lost 10.0.0.3:29500", "lost 10.1.2.3:4"),
        ("lost [fe80::1]:80", "lost [fe80::2:3]:90"),
        ("at 0x7fab after 3.5e-4 s", "at 0x11 after 1 s"),
        ("id 3f2b8c1a-0000-4b1c-9d2e-1234567890ab", "id 00000000-1111-4b1c-9d2e-1234567890ab"),
        ("no file '/data/a/b.bin'", "no file '/mnt/x.pt'"),
        ("GET https://h/x?y=1 failed", "GET http://k/z failed"),
        ("image 0f9a8b7c6d5e4f3a", "image 1a2b3c4d5e6f7a8b"),
        ("a   b", "a b"),
    ],
)
def test_what_differs_between_runs_is_replaced(line: str, same: str) -> None:
    assert normalised(line) == normalised(same) != line


@pytest.mark.parametrize("line", ["KeyError: 'input_ids'", "CUDA out of memory", "and/or"])
def test_words_stay(line: str) -> None:
    assert normalised(line) == line


def test_another_rank_another_step_and_another_line_of_the_file_change_nothing() -> None:
    again = TAIL.replace("rank3", "rank7").replace("line 31", "line 33").replace("-17", "-18")
    assert fingerprint("py.key", TAIL, Stage.TRAIN) == fingerprint(
        "py.key", "more\n" + again.replace("100", "900"), Stage.TRAIN
    )


@pytest.mark.parametrize(
    "other",
    [
        ("py.other", TAIL, Stage.TRAIN),
        (None, TAIL, Stage.TRAIN),
        ("py.key", TAIL, Stage.INIT),
        ("py.key", TAIL, None),
        ("py.key", TAIL.replace("KeyError", "ValueError"), Stage.TRAIN),
        ("py.key", TAIL.replace("in main", "in evaluate"), Stage.TRAIN),
        ("py.key", TAIL.replace("shard", "index"), Stage.TRAIN),
    ],
)
def test_rule_stage_type_frame_and_message_are_part_of_it(
    other: tuple[str | None, str, Stage | None],
) -> None:
    assert fingerprint(*other) != fingerprint("py.key", TAIL, Stage.TRAIN)


def test_frames_of_libraries_are_not() -> None:
    assert fingerprint("x.y", TAIL, None) == fingerprint("x.y", TAIL.replace("_call", "_go"), None)


def test_what_an_interpreter_says_at_its_end_is_not() -> None:
    late = 'Exception ignored in: <x>\nTraceback (most recent call last):\n  File "a"\nOSError: b\n'
    assert fingerprint("x.y", TAIL + late, None) == fingerprint("x.y", TAIL, None)


def test_without_an_exception_the_last_line_of_an_error_counts() -> None:
    tail = "fatal: device 3 lost\nbye 1\n"
    assert fingerprint(None, tail, None) == fingerprint(None, tail.replace("1", "2"), None)
    assert fingerprint(None, tail, None) != fingerprint(None, tail.replace("lost", "hot"), None)


def test_a_line_of_a_step_names_nothing() -> None:
    steps = "loading shards\nstep 1 loss 2.5\nstep 2 loss 2.4\n"
    assert fingerprint(None, steps, None) == fingerprint(None, "loading shards\n", None)


@pytest.mark.parametrize("tail", ["", "step 4 loss 0.5", "orca: no profile"])
def test_what_no_rule_knows_is_told_apart_by_how_it_ended(tail: str) -> None:
    ends = [(code, "exited") for code in (201, 206, 137, 139)] + [(201, "left_behind")]
    gangs = [(worker(0, tail, code=code, cause=cause), worker(1)) for code, cause in ends]
    made = [failure(*gang, ran_s=900, step=4) for gang in gangs]
    found = [diagnose(one, BOOK, one.at) for one in made]
    assert [each.rule for each in found] == [None] * len(ends)
    assert len({each.fingerprint for each in found}) == len(ends)


@pytest.mark.parametrize("tail", ["", "\n\n", "hello", TAIL])
def test_it_is_short(tail: str) -> None:
    assert len(fingerprint(None, tail, None)) == LENGTH
