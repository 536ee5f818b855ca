"""Which GPUs are whose: whole ones, shared ones, and those of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.executor.backends.local.cards import WHOLE, Gpus


def held(*workers: tuple[tuple[int, ...], int | None, int]) -> Gpus:
    gpus = Gpus()
    for numbers, card, milli in workers:
        gpus.hold(numbers, card, milli)
    return gpus


def test_a_shared_card_stays_on_its_gpu_while_anybody_is_on_it() -> None:
    gpus = held(((0,), None, 0), ((2,), 0, 300))
    assert gpus.share(0, 700, count=4, foreign=0) == 2
    assert held(((0,), None, 0)).share(0, 700, count=4, foreign=0) == 1


def test_a_shared_card_that_is_full_is_never_overfilled() -> None:
    gpus = held(((0,), 0, 600), ((0,), 0, 400))
    assert gpus.share(0, 1, count=1, foreign=0) is None
    assert gpus.share(0, 1, count=2, foreign=0) == 1


def test_two_shared_cards_are_two_gpus() -> None:
    gpus = held(((0,), 0, 100))
    assert gpus.share(1, 100, count=2, foreign=0) == 1


def test_a_whole_gpu_is_none_of_the_shared() -> None:
    assert held(((1,), 0, 1)).free(3, foreign=0) == (0, 2)


@pytest.mark.parametrize(("foreign", "free"), [(0, (1, 2, 3)), (2, (1,)), (3, ()), (9, ())])
def test_what_others_take_is_left_alone(foreign: int, free: tuple[int, ...]) -> None:
    gpus = held(((0,), None, 0))
    assert gpus.free(4, foreign) == free
    assert gpus.share(0, 500, count=4, foreign=foreign) == (1 if free else None)


def test_a_gpu_that_the_node_no_longer_has_takes_nobody_in() -> None:
    assert held(((3,), 0, 100)).share(0, 100, count=2, foreign=0) == 0


WORKERS = st.lists(
    st.one_of(
        st.tuples(st.just(None), st.integers(1, 3)),
        st.tuples(st.integers(0, 3), st.integers(1, 999)),
    ),
    max_size=20,
)


@given(workers=WORKERS, count=st.integers(1, 6), foreign=st.integers(0, 3))
def test_nobody_ever_has_what_another_has(
    workers: list[tuple[int | None, int]], count: int, foreign: int
) -> None:
    gpus, whole, shares = Gpus(), list[int](), dict[int, int]()
    for card, amount in workers:
        if card is None:
            chosen = gpus.free(count, foreign)[:amount]
            whole += chosen
            gpus.hold(chosen, None, 0)
        elif (gpu := gpus.share(card, amount, count, foreign)) is not None:
            shares[gpu] = shares.get(gpu, 0) + amount
            gpus.hold((gpu,), card, amount)
    assert len(whole) == len(set(whole))
    assert not set(whole) & shares.keys()
    assert len(whole) + len(shares) <= max(0, count - foreign)
    assert all(given <= WHOLE for given in shares.values())
