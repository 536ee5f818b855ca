"""A job that waits for a person is shown with what was tried and what can be done."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.cli import texts
from muster.cli.views.explanation import explanation
from muster.cli.views.job import job_in_full, job_view
from muster.cli.views.tried import tried
from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.reasons import ReasonCode, reason
from muster.log import Recorded
from tests.cli.test_views import rendered
from tests.support.lives import Life, auto_queue, spec

PLACE = f.Scheduled(placement={"n1": ("worker-0", "worker-1")})
FULL = reason(ReasonCode.WAITING, why="no room", why_zh="没有空位")
RECLAIM = EvictionCause.SPOT_RECLAIM


def story(*steps: tuple[float, f.Fact]) -> list[Recorded]:
    """Events of one job, each so many seconds after the one before."""
    life, found = Life(spec(auto_queue=auto_queue(2, 1))), []
    for number, (after, fact) in enumerate(steps, start=1):
        life.then(fact, after=after)
        event = job_event(life.state, fact, event_id=f"e{number}", source="muster/test", at=life.at)
        found.append(Recorded(event, number, life.at, number))
    return found


def stay(attempt: int, waits: float, runs: float) -> tuple[tuple[float, f.Fact], ...]:
    return (
        (waits, PLACE),
        (5, f.Launching(attempt=attempt)),
        (5, f.Started(attempt=attempt)),
        (runs, f.Preempted(cause=RECLAIM, grace_s=30, by="j9" if attempt == 1 else None)),
        (20, f.Released(attempt=attempt)),
    )


USED_UP = story(
    (0, f.Admitted()),
    *stay(1, 60, 3600),
    (1, f.Requeued(cause=RECLAIM, counted=True)),
    *stay(2, 600, 1200),
    (1, f.RequeueExhausted(cause=RECLAIM)),
)
TOO_LONG = story((0, f.Admitted()), (7200, f.QueueTimedOut(entry=1, why=FULL)))
REFUSED = story(
    (0, f.Admitted()),
    *(
        step
        for attempt in (1, 2, 3)
        for step in (
            (10, PLACE),
            (1, f.StartRefused(attempt=attempt, permanent=True, why="no image", why_zh="无镜像")),
        )
    ),
)


def said(history: list[Recorded], language: str) -> tuple[str, str]:
    """What `muster show` and `muster explain` print."""
    texts.use(language)
    state, now = history[-1].job, history[-1].at + timedelta(hours=9)
    shown = rendered(job_view(state, history, now, ""), width=400)
    explained = explanation(state, None, now, None, tried(history, now))
    return shown, "\n".join(line.plain for line in explained)


@pytest.mark.parametrize(
    ("history", "language", "parts"),
    [
        (
            USED_UP,
            "en",
            (
                "the limit of 1 requeue(s) was reached",
                "queueing 1: waited 1m00s, ran 1h00m, then had to leave for j9: spot_reclaim",
                "queueing 2: waited 10m00s, ran 20m00s, then had to leave: spot_reclaim",
                "muster resume j1, with other limits (--max-queue-hours 1-12, --max-requeues 0-3)",
                "or muster stop j1",
            ),
        ),
        (
            USED_UP,
            "zh",
            (
                "重新排队次数达到上限 1 次",
                "第 1 次排队：等待 1m00s，运行 1h00m，随后被迫为 j9 让出：spot 容量回收",
                "第 2 次排队：等待 10m00s，运行 20m00s，随后被迫让出：spot 容量回收",
                "muster resume j1（可修改上限：--max-queue-hours 1-12、--max-requeues 0-3）",
                "或 muster stop j1",
            ),
        ),
        (
            TOO_LONG,
            "en",
            (
                "the queue time limit of 2 h was reached",
                "queueing 1: waited 2h00m, last said of it: waiting: no room",
                "muster resume j1, with other limits",
            ),
        ),
        (
            TOO_LONG,
            "zh",
            (
                "排队时长达到上限 2 小时",
                "第 1 次排队：等待 2h00m，最近说明：等待中：没有空位",
                "可修改上限",
            ),
        ),
        (REFUSED, "en", ("correct the job", "2 placement(s) taken back", "muster resume j1, or")),
        (REFUSED, "zh", ("请修正任务", "2 次分配被收回", "muster resume j1 或")),
    ],
    ids=["used up", "用完", "too long", "超时", "refused", "拒绝"],
)
def test_what_was_tried_and_what_can_be_done(
    history: list[Recorded], language: str, parts: tuple[str, ...]
) -> None:
    shown, explained = said(history, language)
    for part in parts:
        assert part in shown
        assert part in explained


def test_the_same_for_programs() -> None:
    found = job_in_full(USED_UP[-1].job, USED_UP, "")["tried"]
    assert [(each["entry"], each["waited_s"], each["ran_s"]) for each in found] == [
        (1, 60, 3600),
        (2, 600, 1200),
    ]
    assert {each["cause"] for each in found} == {"spot_reclaim"}


def test_a_job_that_does_not_wait_for_a_person_is_shown_as_before() -> None:
    history = USED_UP[:4]
    shown = rendered(job_view(history[-1].job, history, history[-1].at, ""), width=200)
    assert "tried" not in shown
