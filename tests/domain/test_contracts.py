"""Every event survives the way through the log, and nothing else passes for one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from muster.contracts.events import (
    EVENT_MODELS,
    UnreadableEvent,
    job_event,
    node_event,
    pool_event,
    read_event,
)
from muster.contracts.requests import Stop
from muster.domain.facts import FACTS, Archived, Relabelled
from muster.domain.model import Frozen
from muster.domain.nodes import NODE_FACTS, NodeState
from muster.domain.phases import Phase
from muster.domain.pools import POOL_FACTS
from muster.domain.state import JobState
from tests.domain.model_strategies import INSTANTS, values_of
from tests.support.lives import START, Life

STATES = st.sampled_from(
    [Life().state, Life().placed().state, Life().running().state, Life().faulted().state]
)
NODES = values_of(NodeState).map(lambda node: node.model_copy(update={"node": f"n{node.node}"}))
FEW = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("event", FACTS)
@given(data=st.data())
@FEW
def test_a_job_event_reads_back_as_it_was(event: str, data: st.DataObject) -> None:
    fact, state = data.draw(values_of(FACTS[event])), data.draw(STATES)
    written = job_event(state, fact, event_id="i1", source="muster/x", at=data.draw(INSTANTS))
    assert read_event(written.subject, written.to_bytes()) == written


@given(state=values_of(JobState))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_state_reads_back_as_it_was(state: JobState) -> None:
    written = job_event(state, Archived(phase=Phase.FAILED), event_id="i1", source="x", at=START)
    assert read_event(written.subject, written.to_bytes()) == written


@pytest.mark.parametrize("event", NODE_FACTS)
@given(data=st.data())
@FEW
def test_a_node_event_reads_back_as_it_was(event: str, data: st.DataObject) -> None:
    fact, state = data.draw(values_of(NODE_FACTS[event])), data.draw(NODES)
    written = node_event(state, fact, event_id="i1", source="muster/x", at=data.draw(INSTANTS))
    assert read_event(written.subject, written.to_bytes()) == written


@pytest.mark.parametrize("event", POOL_FACTS)
@given(data=st.data())
@FEW
def test_a_pool_event_reads_back_as_it_was(event: str, data: st.DataObject) -> None:
    fact = data.draw(values_of(POOL_FACTS[event]))
    written = pool_event("p1", fact, event_id="i1", source="muster/x", at=data.draw(INSTANTS))
    assert read_event(written.subject, written.to_bytes()) == written


def _written() -> tuple[str, dict[str, Any]]:
    event = job_event(
        Life().running().state,
        Relabelled(by="ann", request="r2", before={}, labels={}),
        event_id="i1",
        source="muster/admission",
        at=START,
    )
    return event.subject, json.loads(event.to_bytes())


def _body(value: object) -> bytes:
    return json.dumps(value).encode()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field outside": ({"extra": 1}, "extra"),
    "a missing id": ({"id": None}, "id"),
    "another specification": ({"specversion": "0.3"}, "specversion"),
    "a time without a zone": ({"time": "2030-01-01T00:00:00"}, "time"),
    "another subject": ({"subject": "jobs.acme.j9.relabelled"}, "came on"),
}


@pytest.mark.parametrize(("change", "says"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_said(change: dict[str, Any], says: str) -> None:
    subject, value = _written()
    with pytest.raises(UnreadableEvent, match=says):
        read_event(subject, _body(value | change))


@pytest.mark.parametrize("part", ["job", "detail"])
def test_an_unknown_field_inside_is_refused(part: str) -> None:
    subject, value = _written()
    value["data"][part]["surprise"] = 1
    with pytest.raises(UnreadableEvent, match="surprise"):
        read_event(subject, _body(value))


def test_the_job_inside_must_be_the_subjects() -> None:
    subject, value = _written()
    value["data"]["job"]["job"] = "j9"
    with pytest.raises(UnreadableEvent, match="not the job"):
        read_event(subject, _body(value))


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"{}"])
def test_noise_is_no_event(body: bytes) -> None:
    with pytest.raises(UnreadableEvent):
        read_event("jobs.acme.j1.relabelled", body)


@pytest.mark.parametrize(
    "subject", ["jobs.acme.j1.exploded", "jobs.acme", "weather.today", "pools.p.nodes", ""]
)
def test_an_unknown_subject_is_no_event(subject: str) -> None:
    with pytest.raises(UnreadableEvent):
        read_event(subject, b"{}")


def test_an_instant_is_kept_as_utc() -> None:
    subject, value = _written()
    zone = timezone(timedelta(hours=8))
    value["time"] = START.astimezone(zone).isoformat()
    assert read_event(subject, _body(value)).time == START
    assert read_event(subject, _body(value)).time.tzinfo == START.tzinfo


def test_people_write_types_literally() -> None:
    with pytest.raises(ValidationError):
        Stop.model_validate_json(_body({"user": "ann", "job": 7}))


def _models() -> Iterator[type[Frozen]]:
    found = [Frozen]
    while found:
        model = found.pop()
        found += model.__subclasses__()
        if model.__module__.startswith(("muster.domain", "muster.contracts")):
            yield model


def test_what_may_be_none_is_none_when_it_is_left_out() -> None:
    """Absent is how None travels, so another default would come back in its place."""
    assert EVENT_MODELS
    for model in _models():
        for name, field in model.model_fields.items():
            if type(None) in get_args(field.annotation) and not field.is_required():
                default = field.get_default(call_default_factory=True)
                assert default is None, f"{model.__name__}.{name}"


def test_every_event_has_one_versioned_type() -> None:
    types = [each[0] for each in EVENT_MODELS.values()]
    assert len(set(types)) == len(types)
    assert all(each.rpartition(".v")[2].isdigit() for each in types)


def test_a_naive_time_is_no_instant() -> None:
    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - naive on purpose
    values = Life().state.model_dump() | {"since": naive}
    with pytest.raises(ValidationError, match="since"):
        JobState.model_validate(values)
