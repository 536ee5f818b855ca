"""Estimates of starts: by limits they hold, by experience mostly; else they say why not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from muster.scheduler.core.endings import Basis
from muster.scheduler.core.eta import Eta, Unknown, eta, etas, say
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes
from tests.scheduler.timeline import Timeline, Work
from tests.scheduler.worlds import NOW, at, node, only, preempted, queued, running, world

POLICY = Policy()


def limited(seconds: int, **more: Any) -> dict[str, Any]:
    """Return a limit, and nothing else that takes time."""
    quick = {"start_deadline_s": 0, "grace_s": 0, "auto": False}
    return {"max_runtime_s": seconds, **quick, **more}


def ask(*jobs: Any, of: str = "j", nodes: int = 2, runtimes: Runtimes = UNTAUGHT) -> Eta:
    """Estimate one job's start."""
    pool = [node(f"n{i}") for i in range(nodes)]
    return eta(plan(world(pool, jobs, runtimes=runtimes), POLICY), ("t", of))


def test_by_limits_it_starts_when_the_last_one_needed_must_have_ended() -> None:
    one = running("a", ["n0"], **limited(600))
    two = running("b", ["n1"], **limited(900))
    assert ask(one, two, queued("j", auto=False)).high == at(560)
    both = ask(one, two, queued("j", workers=2, auto=False))
    assert (both.low, both.high, both.basis) == (at(1), at(860), Basis.LIMITS)


def test_those_before_it_go_first() -> None:
    busy = running("a", ["n0"], **limited(600))
    before = [queued(f"b{i}", **limited(1000), entered=-200 + i) for i in range(3)]
    found = ask(busy, *before, queued("j", auto=False), nodes=1)
    assert found.high is not None
    assert at(3560) <= found.high <= at(3560 * 1.05)


def test_who_fits_starts_now() -> None:
    found = ask(queued("j"))
    assert (found.low, found.high, found.basis) == (NOW, NOW, Basis.LIMITS)


def test_victims_that_leave_are_counted_on() -> None:
    out = preempted(running("v", ["n0"]), when=-5, grace_s=30)
    assert ask(out, queued("j", auto=False), nodes=1).high == at(25)


def test_what_was_learned_is_used_where_there_are_no_limits() -> None:
    busy = running("a", ["n0"], auto=False)
    known = UNTAUGHT
    for number in range(10):
        known = known.learned(busy, 500 + number * 100)
    found = ask(busy, queued("j", auto=False), nodes=1, runtimes=known)
    assert found.basis is Basis.LEARNED
    assert found.low is not None
    assert found.high is not None
    assert at(440) <= found.low <= at(600)
    assert at(1200) <= found.high <= at(1700)


@pytest.mark.parametrize(
    ("more", "why", "says"),
    [
        ({}, Unknown.NO_BASIS, "no limit"),
        ({"workers": 3}, Unknown.NEVER, "cannot start"),
        ({"node_policy": only("n9")}, Unknown.NEVER, "cannot start"),
    ],
    ids=["unlimited", "too large", "no such node"],
)
def test_without_a_basis_it_says_why(more: dict[str, Any], why: Unknown, says: str) -> None:
    busy = running("a", ["n0", "n1"], auto=False)
    found = ask(busy, queued("j", auto=False, **more))
    assert (found.high, found.basis, found.why) == (None, Basis.UNKNOWN, why)
    assert says in say(found).en
    assert say(found).zh


def test_a_queue_deadline_may_come_first() -> None:
    busy = running("a", ["n0"], **limited(20_000))
    found = ask(busy, queued("j"), nodes=1)
    assert found.why is Unknown.EXPIRES
    assert "ends first" in say(found).en


def test_only_queued_jobs_are_asked_about() -> None:
    with pytest.raises(KeyError):
        ask(running("a", ["n0"]), of="a")


def test_the_sentence_names_both_ends_and_the_basis() -> None:
    busy = running("a", ["n0"], **limited(600))
    said = say(ask(busy, queued("j", auto=False), nodes=1))
    assert "2030-01-01T00:09:20" in said.en
    assert "by limits" in said.en
    assert "00:09:20" in said.zh


# --- against what really happens ----------------------------------------------------------------


def _crowd(dice: Random, count: int) -> list[Work]:
    works = []
    for number in range(count):
        limit = dice.randint(300, 5000)
        state = queued(
            f"j{number:02}",
            workers=dice.randint(1, 3),
            gpus=dice.choice([2, 4, 8, 8]),
            entered=number,
            **limited(limit),
        )
        works.append(Work(state, max(1, int(limit * dice.uniform(0.1, 1.0)))))
    return works


@pytest.mark.parametrize("seed", range(6))
def test_by_limits_the_interval_holds_the_true_start(seed: int) -> None:
    dice = Random(seed)
    works = _crowd(dice, 24)
    line = Timeline([node(f"n{i}") for i in range(4)], works, POLICY)
    line.run(30)
    made = plan(line.snapshot(), line.policy)
    found = etas(made, list(made.verdicts))
    assert len(found) >= 5
    line.run(100_000)
    inside = 0
    for (_, job), one in found.items():
        assert one.basis is Basis.LIMITS
        assert one.low is not None
        assert one.high is not None
        true = at(line.started[job])
        assert one.low <= true
        inside += true <= one.high
    assert inside >= 0.9 * len(found)
