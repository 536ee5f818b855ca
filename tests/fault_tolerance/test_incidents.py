"""Incidents: what many failures have in common, when it begins, goes on and ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.diagnosis import Blame
from muster.domain.incidents import (
    Incident,
    IncidentClosed,
    IncidentKind,
    IncidentOpened,
    IncidentUpdated,
)
from muster.fault_tolerance.core import incidents as i
from muster.fault_tolerance.core.attributed import Attributed, Mark, Shared
from muster.fault_tolerance.core.backoff import after_pause
from tests.fault_tolerance.fleets import NFS, NOW, ago, failed

REGISTRY, IMAGE = Mark(Shared.REGISTRY, "r.example"), Mark(Shared.IMAGE, "r.example/a:1")
SWITCH, ZONE = Mark(Shared.SWITCH, "tor-7"), Mark(Shared.ZONE, "a")


def begun(*failures: Attributed) -> list[tuple[str, str]]:
    seen = i.gathered(failures, NOW)
    return [(each.mark.kind.value, each.mark.name) for each in i.opened(seen)]


THREE = [failed("j1"), failed("j2"), failed("j3", "bob")]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(THREE, True, id="three jobs of two users"),
        pytest.param(THREE[1:], False, id="two jobs"),
        pytest.param([failed(f"j{n}") for n in range(9)], False, id="one user"),
        pytest.param([*THREE[1:], failed("j2", attempt=2)], False, id="one of two jobs twice"),
    ],
)
def test_three_jobs_of_two_users(failures: list[Attributed], expected: bool) -> None:
    assert begun(*failures) == ([("storage", "nfs-1")] if expected else [])


@pytest.mark.parametrize(("seconds", "expected"), [(299, True), (300, False)])
def test_within_five_minutes(seconds: float, expected: bool) -> None:
    late = failed("j3", "bob", at=ago(seconds=seconds))
    assert bool(begun(*THREE[:2], late)) is expected


@pytest.mark.parametrize(
    ("blame", "expected"),
    [
        (Blame.STORAGE, [("storage", "nfs-1")]),
        (Blame.PLATFORM, [("registry", "r.example")]),
        (Blame.NETWORK, [("switch", "tor-7")]),
        (Blame.FRAMEWORK, [("switch", "tor-7")]),
        (Blame.HARDWARE, [("switch", "tor-7")]),
        (Blame.USER, []),
        (Blame.DATA, []),
        (Blame.UNKNOWN, []),
    ],
)
def test_what_a_blame_may_have_in_common(blame: Blame, expected: list[tuple[str, str]]) -> None:
    marks = (NFS, REGISTRY, IMAGE, SWITCH, ZONE)
    bad = [failed(f"j{n}", f"u{n}", blame=blame, marks=marks) for n in range(3)]
    assert begun(*bad) == expected


def test_one_image_of_a_registry_that_works_is_its_own_incident() -> None:
    bad = [failed(f"j{n}", f"u{n}", blame=Blame.PLATFORM, marks=(IMAGE,)) for n in range(3)]
    assert begun(*bad) == [("image", "r.example/a:1")]


def fact(known: Incident | None, *failures: Attributed, later: float = 0) -> Any:
    now = NOW + timedelta(seconds=later)
    seen = next(iter(i.gathered(failures, now)), None)
    return i.next_fact(known, now, seen)


def test_an_incident_is_opened_followed_and_closed() -> None:
    opened = fact(None, *THREE)
    assert isinstance(opened, IncidentOpened)
    first = opened.incident
    assert (first.kind, first.name, first.number) == (IncidentKind.STORAGE, "nfs-1", 1)
    assert (first.jobs, first.users, first.rule) == (3, 2, "storage.stale")
    assert "nfs-1" in first.en
    assert "nfs-1" in first.zh
    assert fact(first, *THREE) is None
    more = fact(first, *THREE, failed("j4", at=NOW))
    assert isinstance(more, IncidentUpdated)
    assert (more.incident.jobs, more.incident.last_at) == (4, NOW)
    assert fact(more.incident, later=1199) is None
    closed = fact(more.incident, later=1200)
    assert isinstance(closed, IncidentClosed)
    assert closed.incident.closed_at == NOW + timedelta(seconds=1200)
    assert fact(closed.incident, later=1201) is None


def test_one_failure_keeps_an_open_incident_open() -> None:
    first = fact(None, *THREE).incident
    late = failed("j9", at=NOW + timedelta(seconds=1100))
    assert isinstance(fact(first, late, later=1200), IncidentUpdated)


def test_what_a_person_has_closed_opens_again_only_by_new_failures() -> None:
    first = fact(None, *THREE).incident
    closed = first.model_copy(update={"closed_at": NOW, "closed_by": "ann"})
    assert fact(closed, *THREE, later=1) is None
    fresh = [failed(f"k{n}", f"u{n}", at=NOW + timedelta(seconds=1)) for n in range(3)]
    again = fact(closed, *fresh, later=2)
    assert isinstance(again, IncidentOpened)
    assert (again.incident.id, again.incident.number) == (first.id, 2)


def test_an_open_incident_explains_what_stands_on_the_same_thing() -> None:
    first = fact(None, *THREE).incident
    assert i.open_for(Blame.STORAGE, (NFS, ZONE), (first,)) == first
    assert i.open_for(Blame.USER, (NFS, ZONE), (first,)) is None
    assert i.open_for(Blame.STORAGE, (ZONE,), (first,)) is None
    assert i.open_for(Blame.STORAGE, (NFS,), ()) is None


@given(st.text())
def test_a_job_tries_again_before_an_incident_can_seem_to_be_over(key: str) -> None:
    assert after_pause(key) < i.LIMITS.quiet


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.floats(0, 600)), max_size=30))
def test_no_incident_without_several_people(failures: list[tuple[int, int, float]]) -> None:
    made = [failed(f"j{j}", f"u{u}", at=ago(seconds=at)) for j, u, at in failures]
    near = [each for each in made if NOW - each.at < timedelta(minutes=5)]
    users, jobs = {each.user for each in near}, {each.job for each in near}
    assert bool(begun(*made)) is (len(users) >= 2 and len(jobs) >= 3)
