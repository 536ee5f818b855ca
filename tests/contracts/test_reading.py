"""What is no event is refused with a reason; no other exception ever leaves the reader."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from muster.contracts import subjects
from muster.contracts.events import (
    EVENT_MODELS,
    Event,
    UnreadableEvent,
    first_error,
    read_event,
)
from muster.contracts.requests import RequestHead
from tests.contracts.written import EVENTS, Json, body, written
from tests.domain.model_strategies import values_of

NAMES = sorted(EVENTS)
SUBJECTS = sorted({event.subject for event in EVENTS.values()})
ODD_SUBJECTS = ["", ".", "jobs", "jobs..j1.admitted", "jobs.a.b.c.d", "requests.acme.submit"]

every_event = pytest.mark.parametrize("name", NAMES)


def refusal(subject: str, message: bytes) -> str:
    """The reason for which a message is refused."""
    with pytest.raises(UnreadableEvent) as caught:
        read_event(subject, message)
    return str(caught.value)


def read(subject: str, message: bytes) -> Event | None:
    """An event, or None where it is refused; any other exception is a fault."""
    try:
        return read_event(subject, message)
    except UnreadableEvent as error:
        return None if str(error) else pytest.fail("a refusal without a reason")


def test_there_is_an_event_of_every_model() -> None:
    assert {tuple(name.split(".")) for name in NAMES} == set(EVENT_MODELS)


@every_event
def test_an_event_is_read_as_it_was_written(name: str) -> None:
    event = EVENTS[name]
    assert read_event(event.subject, event.to_bytes()) == event
    kind, what = name.split(".")
    assert event.type == f"muster.{kind}.{what}.v1"
    assert subjects.parse(event.subject).event == what


# --- what does not belong together -------------------------------------------------------------


@every_event
def test_an_event_of_another_type_is_refused(name: str) -> None:
    subject, value = written(name)
    for other in NAMES:
        if other != name:
            value["type"] = EVENTS[other].type
            assert "does not belong here" in refusal(subject, body(value))


@every_event
def test_an_event_on_a_subject_that_is_not_its_own_is_refused(name: str) -> None:
    subject, value = written(name)
    for other in SUBJECTS:
        if other != subject:
            assert refusal(other, body(value))
    value["subject"] = f"{subject}x"
    assert f"{subject}x came on {subject}" in refusal(subject, body(value))


@pytest.mark.parametrize("field", ["tenant", "job"])
def test_the_job_inside_must_be_the_job_of_the_subject(field: str) -> None:
    subject, value = written("job.started")
    value["data"]["job"][field] = "other"
    assert "not the job" in refusal(subject, body(value))


@pytest.mark.parametrize(("field", "other"), [("pool", "other"), ("node", "gpu-7.rack_4")])
def test_the_node_inside_must_be_the_node_of_the_subject(field: str, other: str) -> None:
    subject, value = written("node.lost")
    value["data"]["node"][field] = other
    assert "not the node" in refusal(subject, body(value))


@every_event
@pytest.mark.parametrize("field", ["id", "source", "type", "subject", "time", "data"])
def test_the_envelope_has_all_its_fields(name: str, field: str) -> None:
    subject, value = written(name)
    del value[field]
    reason = refusal(subject, body(value))
    assert field in reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("specversion", "0.3"),
        ("specversion", 1),
        ("datacontenttype", "text/plain"),
        ("time", "2030-01-01T00:00:00"),
        ("time", "0001-01-01T00:00:00+12:00"),
        ("time", "soon"),
        ("id", 7),
        ("data", None),
        ("data", []),
        ("data", {}),
    ],
)
def test_the_envelope_is_that_of_the_standard(field: str, value: Json) -> None:
    subject, event = written("job.started")
    assert refusal(subject, body(event | {field: value}))


# --- nothing unknown ---------------------------------------------------------------------------

OPEN = {
    *("labels", "held", "cards", "deadlines", "extended", "placement", "proofs", "endpoints"),
    *("before", "users", "nodes", "numbers", "pools"),
}
"""Fields that are mappings of people's or the cluster's own names."""


def objects(value: Json, name: str = "") -> Iterator[dict[str, Json]]:
    """Every JSON object in a message that stands for a model."""
    if isinstance(value, dict):
        if name not in OPEN:
            yield value
        for key, inner in value.items():
            yield from objects(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner, name)


@every_event
def test_an_unknown_field_is_refused_wherever_it_stands(name: str) -> None:
    subject, value = written(name)
    for place in objects(value):
        place["surprise"] = 1
        reason = refusal(subject, body(value))
        assert "surprise" in reason
        del place["surprise"]
    assert read(subject, body(value))


# --- noise -------------------------------------------------------------------------------------

NOISE: dict[str, bytes] = {
    "nothing": b"",
    "a brace": b"{",
    "no object": b"[1, 2]",
    "no text": b"\xff\xfe\xfd",
    "a surrogate alone": b'{"type": "\\ud800"}',
    "a mark of byte order": b"\xef\xbb\xbf{}",
    "another encoding": '{"type": "muster.job.admitted.v1"}'.encode("utf-16"),
    "no number": b'{"type": NaN}',
    "a long number": b'{"type": ' + b"9" * 6000 + b"}",
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"type":' * 100_000,
    "a deep list in an event": b'{"type": "x", "data": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a version without end": b'{"type": "muster.job.admitted.v' + b"9" * 5000 + b'"}',
    "a type twice": b'{"type": "a", "type": 7}',
}


@pytest.mark.parametrize("message", NOISE.values(), ids=list(NOISE))
@pytest.mark.parametrize("subject", ["jobs.acme.j1.admitted", "pools.p.nodes.n1.lost"])
def test_noise_is_refused(subject: str, message: bytes) -> None:
    assert refusal(subject, message)


@pytest.mark.parametrize(
    "subject", [*ODD_SUBJECTS, "pools.p.nodes._ff.lost", "pools.p.nodes.é.lost"]
)
def test_an_odd_subject_has_no_event(subject: str) -> None:
    assert "no event is known" in refusal(subject, b"{}")


@given(subject=st.sampled_from(SUBJECTS) | st.text(), message=st.binary())
@settings(max_examples=300, deadline=None)
def test_bytes_by_chance_are_refused(subject: str, message: bytes) -> None:
    assert read(subject, message) is None


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(name=st.sampled_from(NAMES), data=st.data())
@settings(max_examples=300, deadline=None)
def test_an_event_with_another_value_somewhere_is_read_or_refused(
    name: str, data: st.DataObject
) -> None:
    subject, value = written(name)
    place = data.draw(st.sampled_from([each for each in objects(value) if each]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(VALUES)
    event = read(subject, body(value))
    if event is not None:
        assert read(subject, event.to_bytes()) == event


@given(name=st.sampled_from(NAMES), data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_event_is_read_or_refused(name: str, data: st.DataObject) -> None:
    event = EVENTS[name]
    message = bytearray(event.to_bytes())
    at = data.draw(st.integers(0, len(message) - 1))
    match data.draw(st.sampled_from(["cut", "drop", "change", "twice"])):
        case "cut":
            del message[at:]
        case "drop":
            del message[at]
        case "change":
            message[at] = data.draw(st.integers(0, 255))
        case _:
            message += message[at:]
    found = read(event.subject, bytes(message))
    if found is not None:
        assert found.subject == event.subject
        assert read(event.subject, found.to_bytes()) == found


@every_event
def test_an_event_that_was_cut_short_is_refused(name: str) -> None:
    message = EVENTS[name].to_bytes()
    for length in range(0, len(message), 97):
        assert read(EVENTS[name].subject, message[:length]) is None


def test_a_reason_never_repeats_what_stands_in_the_message() -> None:
    subject, value = written("job.submitted")
    value["data"]["detail"]["spec"]["environment"] = [{"name": "KEY", "value": ["S3CR3T"]}]
    assert "S3CR3T" not in refusal(subject, body(value))
    value["data"]["detail"]["spec"]["environment"] = [{"name": "S3CR3T=", "value": "S3CR3T" * 999}]
    assert "S3CR3T" not in refusal(subject, body(value))
    assert "S3CR3T" not in refusal(subject, b'{"value": "S3CR3T"')


@pytest.mark.parametrize("name", ["job.scheduled", "node.joined", "pool.summary"])
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_particulars_are_read_as_they_were_written(name: str, data: st.DataObject) -> None:
    subject, value = written(name)
    kind, what = name.split(".")
    model = EVENT_MODELS[kind, what][1]
    detail = data.draw(values_of(type(EVENTS[name].data.detail)))
    value["data"]["detail"] = json.loads(detail.model_dump_json(exclude_none=True))
    found = read_event(subject, body(value))
    assert isinstance(found, model)
    assert found.data.detail == detail


def test_a_reason_begins_with_no_empty_place() -> None:
    with pytest.raises(ValidationError) as broken:
        RequestHead.model_validate_json("garbage")
    assert first_error(broken.value).startswith("Invalid JSON")
    with pytest.raises(ValidationError) as missing:
        RequestHead.model_validate_json('{"specversion": "1.0"}')
    assert first_error(missing.value) == "id: Field required"
