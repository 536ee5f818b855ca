"""What an explanation says of when a job will start: each basis, and that it comes true."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain.state import DeadlineKind
from muster.domain.waiting import Estimate
from muster.scheduler.core.estimate import estimate
from muster.scheduler.core.eta import BLUR, LEAST_ROUNDS, WORK
from muster.scheduler.core.explain import explain
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes
from muster.scheduler.core.walk import Walk
from tests.scheduler.pools import Pool, settle
from tests.scheduler.test_questions import ask, fit
from tests.scheduler.test_questions import explain as asked
from tests.scheduler.worlds import NOW, at, node, only, queued, running, world

LIMITED: dict[str, Any] = {"start_deadline_s": 0, "grace_s": 0, "auto": False}


def taught(seconds: int) -> Runtimes:
    found = UNTAUGHT
    for _ in range(9):
        found = found.learned(running("a", ["n1"]), seconds)
    return found


def told(*jobs: Any, **more: Any) -> Estimate:
    found = explain(world([node("n1")], jobs, **more), ("t", "q"), Policy()).estimate
    assert found is not None
    assert found.en != found.zh
    return found


WAITER = queued("q", auto=False)
ENDLESS = running("r", ["n1"], auto=False)
BASES: dict[str, tuple[Estimate, str, str]] = {
    "LIMITS": (
        told(running("r", ["n1"], max_runtime_s=600, **LIMITED), WAITER),
        "by limits on run times); nodes stay as they are",
        "依据运行时长上限）；假设节点保持不变",
    ),
    "LEARNED": (
        told(ENDLESS, WAITER, runtimes=taught(900)),
        "by how long such jobs have run, 10th to 90th percentile); nodes stay",
        "历史运行时长",
    ),
    "NO_BASIS": (told(ENDLESS, WAITER), "at the earliest: it waits for jobs that have", "无法估计"),
    "NEVER": (
        told(ENDLESS, queued("q", gpus=9)),
        "when it starts is not known: it cannot start in this pool",
        "启动时间未知",
    ),
    "EXPIRES": (
        told(running("r", ["n1"], max_runtime_s=20_000, **LIMITED), queued("q")),
        "its time in the queue ends first",
        "排队时限会先到",
    ),
    "TOO_FAR": (
        told(ENDLESS, *(queued(f"p{i}", entered=-900 + i) for i in range(301)), WAITER),
        "too much stands before it",
        "排在它之前的任务太多",
    ),
}


@pytest.mark.parametrize("basis", list(BASES))
def test_each_basis_is_named_with_what_it_takes_for_granted(basis: str) -> None:
    found, english, chinese = BASES[basis]
    assert found.basis == basis
    assert english in found.en
    assert chinese in found.zh
    assert (found.latest is None) is (basis not in {"LIMITS", "LEARNED"})


def test_who_needs_no_estimate_has_none() -> None:
    snapshot = world([node("n1")], [running("r", ["n1"]), queued("q", node_policy=only("n9"))])
    assert explain(snapshot, ("t", "r"), Policy()).estimate is None
    placed = explain(world([node("n1")], [queued("q")]), ("t", "q"), Policy())
    assert placed.estimate is None


async def test_the_interval_of_an_answer_holds_the_end_of_who_is_in_the_way() -> None:
    pool = Pool()
    await pool.join("n1")
    await pool.submit("a", resource={"priority": 90}, max_runtime_s=900)
    scheduler = pool.scheduler()
    await settle(scheduler)
    await pool.launch("a")
    await pool.submit("b")
    await settle(scheduler)
    end = (await pool.state("a")).due(DeadlineKind.RUN)
    explained = (await ask(scheduler, asked("b"))).explanation
    tried = (await ask(scheduler, fit(what_if=("stop b",)))).fit
    assert tried is not None
    behind = (await ask(scheduler, fit())).fit
    for found in (explained, tried.explanation):
        assert found is not None
        assert found.estimate is not None
        assert (found.estimate.basis, end is not None) == ("LIMITS", True)
        assert found.estimate.earliest <= end <= found.estimate.latest  # type: ignore[operator]
    assert behind is not None
    assert behind.explanation is not None
    assert behind.explanation.estimate is not None
    assert behind.explanation.estimate.basis == "NO_BASIS"  # b goes before it, without a limit


def test_of_a_large_pool_a_walk_has_fewer_rounds_and_both_ends_stay_true(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for: list[tuple[int, float]] = []
    go = Walk.go

    def counted(walk: Walk, wanted: Any, rounds: int) -> bool:
        asked_for.append((rounds, walk.blur))
        return go(walk, wanted, rounds)

    monkeypatch.setattr(Walk, "go", counted)
    count = 40
    limits = [300 + 50 * number for number in range(count)]
    busy = [
        running(f"r{n:02}", [f"n{n}"], max_runtime_s=limit, **LIMITED)
        for n, limit in enumerate(limits)
    ]
    nodes = [node(f"n{n}") for n in range(count)]
    near = plan(world(nodes, [*busy, queued("q", workers=20, auto=False)]), Policy())
    exact = estimate(near, ("t", "q"))
    monkeypatch.setattr("muster.scheduler.core.eta.WORK", 1)
    rough = estimate(near, ("t", "q"))
    assert {rounds for rounds, _ in asked_for} == {150, LEAST_ROUNDS}
    assert {blur for _, blur in asked_for} == {BLUR / 150, BLUR / LEAST_ROUNDS}
    assert WORK > 1
    true = at(-40 + limits[19])
    for found in (exact, rough):
        assert found.earliest is not None
        assert found.latest is not None
        assert NOW <= found.earliest <= true <= found.latest
