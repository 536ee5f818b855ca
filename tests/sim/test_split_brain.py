"""Two schedulers that both believe to lead, and what each of them must not be able to break."""

from __future__ import annotations

import pytest

from muster.cli.simulation.split_brain import (
    Counts,
    Outcome,
    simulate_split_brain,
    split_brain,
)
from muster.log import Basis
from muster.log.memory import Store
from muster.testing.invariants.capacity import NoNodeOverCapacity

ROUNDS = 300
SEEDS = (67, *range(300))
"""The first of them was once enough; any other that finds the fault will do."""


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return list(simulate_split_brain(ROUNDS))


def test_two_leaders_break_no_invariant(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        assert not outcome.broken, "\n".join([outcome.text, *outcome.report])


def test_they_do_all_that_they_must_not_break_anything_by(outcomes: list[Outcome]) -> None:
    total = sum((outcome.counts for outcome in outcomes), Counts())
    assert total.rounds >= ROUNDS
    assert total.epochs > ROUNDS / 4
    assert min(total.two_leaders, total.conflicts, total.timed_out, total.evictions) > 0
    assert min(total.late_stored, total.late_refused) > 0


def test_a_seed_is_the_same_walk_again() -> None:
    assert split_brain(3, 20).counts == split_brain(3, 20).counts


@pytest.fixture
def no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log looks at every condition but that on the epoch of a pool."""
    true = Store.holds

    def holds(self: Store, basis: Basis) -> bool:
        return basis.key.condition.endswith(".epoch") or true(self, basis)

    monkeypatch.setattr(Store, "holds", holds)


@pytest.mark.usefixtures("no_epoch")
def test_without_the_condition_on_the_epoch_an_old_leader_is_noticed() -> None:
    assert any(split_brain(seed).invariant == "I12" for seed in SEEDS)


@pytest.mark.timeout(600)  # about one walk in a hundred finds it, if the first no longer does
@pytest.mark.usefixtures("no_epoch")
def test_without_the_condition_on_the_epoch_a_node_is_given_away_twice() -> None:
    walks = (split_brain(seed, only=(NoNodeOverCapacity,)) for seed in SEEDS)
    assert any(outcome.invariant == "I1" for outcome in walks)
