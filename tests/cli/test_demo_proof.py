"""The demo's proof: each judgement is right about what it judges, and wrong demos are found out."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from muster.cli.demo.evidence import Run, judge, read_runs
from muster.cli.demo.mailbox import Letter, judge_letters, letters
from muster.domain.phases import Shown
from muster.notifier.sandbox import Received

SECRET = "s3cret"
FIRST = [
    "training: rank=0 world_size=2 attempt=1 steps=60 seed=0",
    "step=5 loss=0.690000 lr=0.01 samples/s=100 accuracy=0.5",
    "step=30 loss=0.200000 lr=0.01 samples/s=100 accuracy=0.9",
    "checkpoint saved: step=33 path=/x/33",
    "stopped: after_step=33 reason=SIGTERM",
]
SECOND = [
    "checkpoint loaded: step=33 path=/x/33",
    "step=35 loss=0.210000 lr=0.01 samples/s=100 accuracy=0.9",
    "step=60 loss=1.5e-01 lr=0.01 samples/s=100 accuracy=0.9",
    "finished: steps=60",
]


def _judged(first: list[str], second: list[str]) -> dict[str, bool]:
    return {each.key: each.good for each in judge(read_runs({1: first, 2: second}), 60)}


def test_a_training_that_went_on_is_believed() -> None:
    assert _judged(FIRST, SECOND) == {
        "saved": True,
        "continued": True,
        "calm": True,
        "finished": True,
    }


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (FIRST, SECOND[1:], "continued"),
        (FIRST, [SECOND[0].replace("33", "20"), *SECOND[1:]], "continued"),
        (FIRST, [SECOND[0], "step=5 loss=0.2", *SECOND[1:]], "continued"),
        (FIRST, [SECOND[0], SECOND[1], SECOND[1], *SECOND[2:]], "continued"),
        (FIRST, [SECOND[0], "step=35 loss=0.65", *SECOND[2:]], "calm"),
        (FIRST, [SECOND[0], "step=35 loss=nan", *SECOND[2:]], "calm"),
        (FIRST, SECOND[:2], "finished"),
        ([*FIRST[:3], "checkpoint saved: step=20 path=/x/20"], SECOND, "saved"),
        (FIRST, [], "silent"),
        ([], SECOND, "silent"),
    ],
)
def test_a_training_that_did_not_is_found_out(
    first: list[str], second: list[str], found: str
) -> None:
    judged = _judged(first, second)
    if found == "silent":
        assert not all(judged.values())
    else:
        assert not judged[found]


def test_lines_that_are_no_steps_are_passed_over() -> None:
    run = Run()
    assert run.read("steps=5 loss") is None
    assert run.read("myloss=3 step=5 loss=2") is not None
    assert [point.step for point in run.points] == [5]


def _message(job: str, title: str, secret: str = SECRET) -> Received:
    digest = hmac.new(f"100\n{secret}".encode(), b"", hashlib.sha256).digest()
    body = {"timestamp": "100", "sign": base64.b64encode(digest).decode()}
    return Received("t", 1.0, "interactive", "blue", title, f"{title}\n{job}", body)


def test_letters_are_read_and_their_signatures_computed_again() -> None:
    received = [_message("j1", "queued · a"), _message("j2", "运行成功 · b", "other")]
    assert letters(received, SECRET, ("j1", "j2")) == [
        Letter("queued · a", "j1", "j1", Shown.QUEUED, True, 1.0),
        Letter("运行成功 · b", "j2", "j2", Shown.SUCCEEDED, False, 1.0),
    ]


@pytest.mark.parametrize(
    ("states", "good"),
    [
        ([Shown.QUEUED, Shown.RUNNING, Shown.RUNNING], True),
        ([Shown.QUEUED, Shown.RUNNING], False),
        ([Shown.QUEUED, Shown.QUEUED, Shown.RUNNING, Shown.RUNNING], False),
        ([Shown.QUEUED, Shown.RUNNING, Shown.RUNNING, Shown.FAILED], False),
    ],
)
def test_each_notice_must_come_exactly_once(states: list[Shown], good: bool) -> None:
    found = [Letter(state, "", "j", state, True, 0.0) for state in states]
    judged = judge_letters(found, {"j": {Shown.QUEUED: 1, Shown.RUNNING: 2}})
    assert [each.good for each in judged] == [good, True]


def test_an_unsigned_notice_is_found_out() -> None:
    found = [Letter("queued · a", "", "j", Shown.QUEUED, False, 0.0)]
    assert [each.good for each in judge_letters(found, {"j": {Shown.QUEUED: 1}})] == [True, False]
