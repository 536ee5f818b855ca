"""What is learned of run times: bounded, the same from the same log, and near the truth."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.scheduler.core import runtimes
from muster.scheduler.core.runtimes import BOUNDS, ENOUGH, UNTAUGHT, Histogram, Runtimes
from tests.scheduler.pools import Pool, settle
from tests.scheduler.worlds import POOL, queued

seconds = st.lists(
    st.floats(min_value=0.01, max_value=4_000_000, allow_nan=False), min_size=ENOUGH, max_size=60
)


def histogram(times: list[float]) -> Histogram:
    """Learn some run times."""
    known = Histogram()
    for one in times:
        known = known.learned(one)
    return known


@settings(max_examples=200, deadline=None)
@given(seconds, st.integers(min_value=1, max_value=100))
def test_a_quantile_is_no_lower_than_the_true_one_and_a_fifth_higher_at_most(
    times: list[float], percent: int
) -> None:
    found = histogram(times).quantile(percent)
    true = sorted(times)[-(-len(times) * percent // 100) - 1]
    assert found is not None
    assert true <= found <= max(true * 1.2, true + 1)


def test_of_few_runs_nothing_is_concluded() -> None:
    known = histogram([60.0] * (ENOUGH - 1))
    assert known.quantile(50) is None
    assert known.learned(60).quantile(50) == BOUNDS[min(known.counts)[0]]


def test_what_a_run_has_lasted_counts() -> None:
    known = histogram([60.0] * 8 + [3600.0] * 2)
    early, late = known.quantile(50), known.quantile(50, beyond=120)
    assert early is not None
    assert early < 80
    assert late is not None
    assert 3600 <= late < 4400
    assert known.quantile(50, beyond=10_000) is None


def test_old_runs_fade() -> None:
    dice = Random(7)
    known = histogram([3600 * dice.uniform(0.9, 1.1) for _ in range(1000)])
    for _ in range(600):
        known = known.learned(60)
    found = known.quantile(50)
    assert found is not None
    assert found < 80
    assert known.total <= runtimes.FADING + 1


def test_the_narrowest_kind_that_knows_enough_answers() -> None:
    train = queued("train-1", workers=2).model_copy(update={"name": "train-1"})
    evaluate = train.model_copy(update={"name": "eval-1"})
    other = queued("x", workers=3)
    known = UNTAUGHT
    for number in range(ENOUGH):
        again = train.model_copy(update={"name": f"train-{number + 2}"})
        known = known.learned(again, 1000).learned(evaluate, 10)
    assert known.expected(train, 50) in range(1000, 1201)
    assert known.expected(evaluate, 50) in range(10, 13)
    stranger = train.model_copy(update={"name": "new", "user": "v"})
    assert known.expected(stranger, 90) in range(1000, 1201)
    assert known.expected(other, 50) is None
    assert known.expected(train.model_copy(update={"tenant": "u"}), 50) is None


def test_so_many_kinds_and_no_more() -> None:
    known = Runtimes()
    for number in range(runtimes.MAX_KINDS):
        known = known.learned(queued("j", workers=number + 1), 60)
    assert len(known.kinds) == runtimes.MAX_KINDS
    assert {kind.shape for kind in known.kinds} == {
        f"{workers}x8" for workers in range(runtimes.MAX_KINDS // 2 + 1, runtimes.MAX_KINDS + 1)
    }


async def test_the_log_teaches_by_success_alone() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    for number in range(ENOUGH + 1):
        await pool.submit(f"j{number}")
        await settle(scheduler)
        await pool.launch(f"j{number}")
        pool.pass_by(300)
        if number:
            await pool.write(f"j{number}", f.Succeeded(attempt=1))
        else:
            stop = f.StopRequested(by="u", request="r")
            await pool.write("j0", stop, owner=Owner.ADMISSION)
            await pool.write("j0", f.Stopped())
        await pool.release(f"j{number}")
        await settle(scheduler)
    known = scheduler.fold.pools[POOL].runtimes
    state = await pool.state("j1")
    assert known.expected(state, 50) in range(300, 361)
    assert [h.total for h in known.kinds.values()] == [ENOUGH, ENOUGH]
