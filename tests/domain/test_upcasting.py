"""Old events are read as today's; newer ones are refused until somebody upgrades."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.contracts import upcasters
from muster.contracts.events import UnreadableEvent, job_event, read_event
from muster.domain.facts import Relabelled
from tests.support.lives import START, Life

OLD, PRESENT, NEW = (f"muster.job.relabelled.v{version}" for version in (0, 1, 2))


def _written(**changes: Any) -> tuple[str, bytes]:
    fact = Relabelled(by="ann", request="r2", before={}, labels={"a": "b"})
    state = Life().running().state
    event = job_event(state, fact, event_id="i1", source="muster/admission", at=START)
    return event.subject, json.dumps(json.loads(event.to_bytes()) | changes).encode()


def test_a_newer_version_is_refused_with_the_remedy() -> None:
    subject, body = _written(type=NEW)
    with pytest.raises(UnreadableEvent, match="upgrade, then replay"):
        read_event(subject, body)


def test_an_old_version_without_a_way_is_refused() -> None:
    subject, body = _written(type=OLD)
    with pytest.raises(UnreadableEvent, match="no upcaster"):
        read_event(subject, body)


def test_an_old_version_is_read_as_todays(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, body = _written(type=OLD)
    old = json.loads(body)
    old["data"]["detail"]["tags"] = old["data"]["detail"].pop("labels")

    def rename(value: dict[str, Any]) -> dict[str, Any]:
        detail = dict(value["data"]["detail"])
        detail["labels"] = detail.pop("tags")
        return {**value, "data": {**value["data"], "detail": detail}}

    monkeypatch.setitem(upcasters.UPCASTERS, OLD, rename)
    event = read_event(subject, json.dumps(old).encode())
    assert event.type == PRESENT
    assert event.data.detail.labels == {"a": "b"}


def test_an_event_of_another_kind_is_never_upcast() -> None:
    subject, body = _written(type="muster.job.shared.v1")
    with pytest.raises(UnreadableEvent, match="does not belong here"):
        read_event(subject, body)


def test_an_upcaster_that_makes_nonsense_makes_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, body = _written(type=OLD)
    monkeypatch.setitem(upcasters.UPCASTERS, OLD, lambda value: {**value, "data": {}})
    with pytest.raises(UnreadableEvent):
        read_event(subject, body)


@pytest.mark.parametrize("kind", [None, 7, "", "muster.job.relabelled", "x.v1"])
def test_a_type_that_is_none_is_refused(kind: object) -> None:
    subject, body = _written(type=kind)
    with pytest.raises(UnreadableEvent):
        read_event(subject, body)
