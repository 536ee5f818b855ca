"""The table of the life cycle: every event against every phase, every owner, every target."""

from __future__ import annotations

from itertools import product

import pytest

from muster.domain.edges import (
    EDGES,
    IllegalEdge,
    Owner,
    check_source,
    check_target,
    may_follow,
)
from muster.domain.evolve import _EFFECTS
from muster.domain.facts import FACTS
from muster.domain.phases import ACTIVE, HOLDING, PARKED, TERMINAL, Phase


def test_every_fact_has_an_edge_and_an_effect() -> None:
    assert set(FACTS) == set(EDGES)
    assert {FACTS[event] for event in EDGES} - set(_EFFECTS) == {FACTS["submitted"]}


def test_every_phase_is_active_parked_or_terminal() -> None:
    assert sorted(ACTIVE | PARKED | TERMINAL) == sorted(Phase)
    assert not ACTIVE & PARKED
    assert not ACTIVE & TERMINAL
    assert not HOLDING & (TERMINAL | PARKED)


@pytest.mark.parametrize("event", EDGES)
def test_an_event_follows_exactly_the_phases_of_its_edge(event: str) -> None:
    edge = EDGES[event]
    for phase in Phase:
        assert may_follow(event, phase) == (phase in edge.sources)
        if phase in edge.sources:
            check_source(event, edge.owners[0], phase)
            continue
        with pytest.raises(IllegalEdge, match=f"{event} cannot follow {phase}"):
            check_source(event, edge.owners[0], phase)


@pytest.mark.parametrize("event", EDGES)
def test_only_its_owners_write_an_event(event: str) -> None:
    edge = EDGES[event]
    phase = None if event == "submitted" else min(edge.sources)
    for owner in Owner:
        if owner in edge.owners:
            check_source(event, owner, phase)
            continue
        with pytest.raises(IllegalEdge, match="is written by"):
            check_source(event, owner, phase)


@pytest.mark.parametrize("event", EDGES)
def test_only_submitted_begins_a_job(event: str) -> None:
    if event == "submitted":
        check_source(event, Owner.ADMISSION, None)
        with pytest.raises(IllegalEdge):
            check_source(event, Owner.ADMISSION, Phase.SUBMITTED)
        return
    with pytest.raises(IllegalEdge, match="cannot follow nothing"):
        check_source(event, EDGES[event].owners[0], None)


@pytest.mark.parametrize("event", EDGES)
def test_an_event_leads_only_where_its_edge_says(event: str) -> None:
    edge = EDGES[event]
    for before, after in product(edge.sources, Phase):
        legal = after in edge.targets if edge.targets else after is before
        if legal:
            check_target(event, before, after)
            continue
        with pytest.raises(IllegalEdge, match="cannot lead"):
            check_target(event, before, after)


AFTER_THE_END = {"released", "signalled", "relabelled", "shared", "archived"}


@pytest.mark.parametrize("phase", sorted(TERMINAL))
def test_the_end_absorbs_everything_that_could_move_it(phase: Phase) -> None:
    followers = {event for event in EDGES if may_follow(event, phase)}
    assert followers <= AFTER_THE_END


def test_a_parked_job_obeys_people_only() -> None:
    people = {"stop_requested", "resumed", "respecified", "relabelled", "shared"}
    executor = {"released", "signalled"}
    assert {event for event in EDGES if may_follow(event, Phase.ABNORMAL)} == people | executor


def test_every_edge_has_one_owner_but_the_one_that_the_life_cycle_gives_two() -> None:
    shared = {event for event, edge in EDGES.items() if len(edge.owners) > 1}
    assert shared == {"declined"}


def test_requeue_and_restart_belong_to_different_services() -> None:
    assert EDGES["requeued"].owners == (Owner.REQUEUE,)
    assert EDGES["restarted"].owners == (Owner.FAULT_TOLERANCE,)


def test_every_phase_but_the_first_is_reached_and_every_active_one_is_left() -> None:
    reached = {target for edge in EDGES.values() for target in edge.targets}
    assert reached == set(Phase)
    for phase in ACTIVE | PARKED:
        ways_out = [e for e, edge in EDGES.items() if phase in edge.sources and edge.targets]
        assert ways_out, phase
