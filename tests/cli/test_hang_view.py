"""What `muster hang` says of a job, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from muster.cli import texts
from muster.cli.catalogue.hangs import HANGS
from muster.cli.views.hang import hang_lines
from muster.contracts.fault_questions import FamilySays, HangAnswer
from muster.fault_tolerance.core.hang_arming import Unarmed
from muster.fault_tolerance.core.hang_signs import Why
from muster.fault_tolerance.core.hang_track import Family
from tests.support.lives import Life, spec


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    texts.use("en")
    yield
    texts.use("en")


def said(**more: Any) -> str:
    answer = HangAnswer(tenant="acme", job="j1", attempt=1, **more)
    state = Life(spec()).running().state
    return "\n".join(line.plain for line in hang_lines(state, answer))


STILL = FamilySays(
    family="process", sign="still", why="one_sleeps", seconds=640, worker="worker-17"
)
SEEN: dict[str, Any] = {
    "watched_s": 4000.0,
    "stage": "training",
    "step": 1200,
    "silent_s": 640.0,
    "limit_s": 600.0,
    "window_s": 600.0,
    "contradicted_s": 3600.0,
    "proven": True,
    "families": (
        FamilySays(family="progress", sign="still", why="no_step", seconds=640),
        FamilySays(family="device", sign="moving", why="device_works", worker="worker-3"),
        STILL,
        FamilySays(family="framework", sign="unknown"),
    ),
}


def test_a_suspicion_is_told_with_everything_behind_it() -> None:
    text = said(**SEEN, suspected=True, worker="worker-17", restart=True, p99_s=12.0)
    assert "a hang is restarted" in text
    assert "worker-17 stands out" in text
    assert "training, step 1200: nothing new for 10m40s; the limit is 10m00s" in text
    assert "process: still for 10m40s: all spin and one sleeps (worker-17)" in text
    assert "device: goes on: a GPU works (worker-3)" in text
    assert "framework: nobody can say" in text
    assert "99 % of steps within 12s" in text


@pytest.mark.parametrize("why", list(Unarmed))
def test_why_a_silence_is_not_judged(why: Unarmed) -> None:
    assert len(said(unarmed=why)) > 10


def test_a_job_that_was_not_seen_yet() -> None:
    assert "nothing was seen of attempt 1 yet" in said()


def test_a_job_that_tells_no_steps_is_told_so() -> None:
    assert "has told no step" in said(**{**SEEN, "proven": False})


def test_a_phase_that_nobody_knows_is_shown_as_it_is() -> None:
    assert "resharding: nothing new" in said(**{**SEEN, "stage": "resharding"})


def test_every_code_has_words() -> None:
    assert all(f"hang.why.{why}" in HANGS for why in Why if why)
    assert all(f"hang.family.{family}" in HANGS for family in Family)
    others = set(Unarmed) - {Unarmed.OFF}
    assert all(f"hang.unarmed.{why}" in HANGS for why in others)


def test_it_is_said_in_chinese() -> None:
    texts.use("zh")
    text = said(**SEEN, suspected=True)
    assert "判断为卡死" in text
    assert "still" not in text
