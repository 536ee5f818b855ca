"""Each invariant can fail: a fault put into the code is found, by the check that it breaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muster.cli.simulation.sameness import FreshDecidesTheSame
from muster.cli.simulation.walks import walk
from muster.testing.invariants import OBSERVED
from muster.testing.invariants.base import Invariant
from tests.sim.mutations import MUTATIONS

SEEDS = 300
PROMISED = 100
STEPS = 300
NEAR = (0, 1, 2, 3, 17, 22, 36, 49, 60, 131)
"""Tried first, since they once were enough; any other seed that finds the fault will do."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_in_the_code_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number, mutate = MUTATIONS[name]
    mutate(monkeypatch)
    assert _found(number, lambda seed: walk(seed, STEPS).invariant) is not None


def _found(number: str, broken_by: Callable[[int], str]) -> int | None:
    others = [seed for seed in range(SEEDS) if seed not in NEAR]
    return next((seed for seed in (*NEAR, *others) if broken_by(seed) == number), None)


def test_every_invariant_has_a_fault_that_it_finds() -> None:
    every: tuple[type[Invariant], ...] = (*OBSERVED, FreshDecidesTheSame)
    observed = {invariant.number for invariant in every}
    assert observed == {number for number, _ in MUTATIONS.values()}


def test_a_world_whose_writes_have_no_condition_breaks_within_a_hundred_seeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    MUTATIONS["writes_have_no_condition"][1](monkeypatch)
    walks = (walk(seed, STEPS) for seed in range(PROMISED))
    broken = next((outcome for outcome in walks if outcome.broken), None)
    assert broken is not None
    assert broken.report
