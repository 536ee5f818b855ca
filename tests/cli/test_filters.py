"""Filters of lists and events, limits of a resume, and what ends a follow."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from muster.cli.commands.events import Filters
from muster.cli.commands.jobs import Wanted
from muster.cli.commands.respecify import node_policy
from muster.cli.commands.resume import changed_limits
from muster.cli.following import OUTCOMES
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.phases import PARKED, TERMINAL, Phase
from tests.support.lives import Life, auto_queue, spec

JOB = Life(spec(labels={"team": "nlp", "kind": "big"})).queued().state


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({}, True),
        ({"tenant": "acme"}, True),
        ({"tenant": "beta"}, False),
        ({"phases": frozenset({Phase.QUEUED, Phase.RUNNING})}, True),
        ({"phases": frozenset({Phase.RUNNING})}, False),
        ({"labels": {"team": "nlp", "kind": "big"}}, True),
        ({"labels": {"team": "nlp", "kind": "small"}}, False),
        ({"labels": {"other": ""}}, False),
        ({"user": "ann"}, True),
        ({"user": "bob", "tenant": "acme"}, False),
    ],
)
def test_a_job_must_pass_every_filter(wanted: dict[str, Any], matches: bool) -> None:
    assert Wanted(**wanted).matches(JOB) is matches


@pytest.mark.parametrize(
    ("filters", "subjects"),
    [
        (Filters(), ("jobs.*.*.*", "pools.*.nodes.>")),
        (Filters(tenant="acme"), ("jobs.acme.*.*",)),
        (Filters(tenant="acme", job="j1"), ("jobs.acme.j1.*",)),
        (Filters(events=frozenset({"started"})), ("jobs.*.*.started",)),
        (Filters(events=frozenset({"joined"})), ("pools.*.nodes.*.joined",)),
        (Filters(tenant="acme", events=frozenset({"joined"})), ("jobs.acme.*.none",)),
        (Filters(tenant="acme", events=frozenset({"joined", "failed"})), ("jobs.acme.*.failed",)),
    ],
)
def test_the_server_filters_events(filters: Filters, subjects: tuple[str, ...]) -> None:
    assert filters.subjects() == subjects


@pytest.mark.parametrize(
    ("hours", "requeues", "limits"),
    [
        (None, None, None),
        (3, None, (3, 1)),
        (None, 0, (2, 0)),
        (12, 3, (12, 3)),
    ],
)
def test_a_limit_that_is_not_given_stays(
    hours: int | None, requeues: int | None, limits: tuple[int, int] | None
) -> None:
    state = Life(spec(auto_queue=auto_queue(hours=2, requeues=1).model_dump())).queued().state
    found = changed_limits(state, hours, requeues)
    expected = limits and AutoQueueSpec(
        enabled=True, max_queue_hours=limits[0], max_requeues=limits[1]
    )
    assert found == expected


@pytest.mark.parametrize(
    ("only", "never", "kind"),
    [([], [], None), (["n1"], [], "NodeIn"), ([], ["n1", "n2"], "NodeNotIn")],
)
def test_a_change_of_the_node_policy(only: list[str], never: list[str], kind: str | None) -> None:
    found = node_policy(only, never)
    assert (found.type.value if found else None) == kind
    assert (list(found.nodes) if found else []) == only + never


def test_both_ways_of_a_node_policy_are_refused() -> None:
    with pytest.raises(typer.BadParameter, match="not both"):
        node_policy(["n1"], ["n2"])


def test_every_end_has_an_exit_code() -> None:
    assert OUTCOMES.keys() == TERMINAL | PARKED
