"""No sequence of events lets a job exceed its limits, pay twice, or wait where nobody looks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.edges import EDGES
from muster.domain.phases import Phase
from muster.domain.state import JobState
from tests.sim.limit_mutations import MUTATIONS
from tests.sim.limit_rules import RULES, Broken, Rule
from tests.sim.limit_walks import Walk, walk

LENGTH = 120
MANY = settings(max_examples=300, deadline=None)
WALKS = st.builds(walk, seed=st.integers(0, 2**32), length=st.integers(1, LENGTH))
SEEDS = 400
"""So many walks are tried until a fault is found; most are found in the first few."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_it_holds_in_every_life(rule: Rule) -> None:
    @given(made=WALKS)
    @MANY
    def holds(made: Walk) -> None:
        rule(made)

    holds()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_in_the_code_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, mutate = MUTATIONS[name]
    mutate(monkeypatch)
    assert any(_breaks(rule, walk(seed, LENGTH)) for seed in range(SEEDS))


def _breaks(rule: Rule, made: Walk) -> bool:
    try:
        rule(made)
    except Broken:
        return True
    return False


def test_each_rule_has_a_fault_that_it_finds() -> None:
    assert {rule for rule, _ in MUTATIONS.values()} == set(RULES)


def test_the_walks_go_where_it_matters() -> None:
    """Every phase of a job that was let in; every way to use up, to be parked and to come back."""
    steps = [step for seed in range(600) for step in walk(seed, LENGTH).steps]
    assert {step.after.phase for step in steps} == set(Phase) - {Phase.SUBMITTED, Phase.REJECTED}
    seen = {step.fact.event for step in steps}
    rare = {"requeue_exhausted", "queue_timed_out", "not_requeued", "declined", "escalated"}
    assert {*rare, "resumed", "respecified", "restarted"} <= seen
    below = [s for s in steps if isinstance(s.fact, f.Respecified) and _below_what_is_used(s.after)]
    assert below
    assert seen <= EDGES.keys()


def _below_what_is_used(state: JobState) -> bool:
    limits = state.demand.queue
    return limits is not None and limits.max_requeues < state.ledgers.requeues
