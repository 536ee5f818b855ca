"""Old versions walk to the present one step by step; whoever is broken on the way is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from muster.contracts.events import EVENT_MODELS, UnreadableEvent, read_event
from muster.contracts.upcasters import UPCASTERS, NoUpcaster, type_of, upcast
from tests.contracts.written import body, written

KEY = ("job", "start_failed")
V1, V2, V3, V4 = (f"muster.job.start_failed.v{version}" for version in (1, 2, 3, 4))
Value = dict[str, Any]


def detail(change: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """An upcaster that changes the particulars."""

    def upcaster(value: Value) -> Value:
        inner = change(dict(value["data"]["detail"]))
        return {**value, "data": {**value["data"], "detail": inner}}

    return upcaster


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's version is the third: `text` was renamed to `reason`, and that to `why`."""
    monkeypatch.setitem(EVENT_MODELS, KEY, (V3, EVENT_MODELS[KEY][1]))
    rename = {V1: ("text", "reason"), V2: ("reason", "why")}
    for version, (old, new) in rename.items():
        step = detail(lambda d, o=old, n=new: {(n if k == o else k): v for k, v in d.items()})  # type: ignore[misc]
        monkeypatch.setitem(UPCASTERS, version, step)


def old(version: str, field: str, text: str) -> tuple[str, bytes]:
    subject, value = written("job.start_failed")
    value["type"] = version
    value["data"]["detail"] = {"attempt": value["data"]["detail"]["attempt"], field: text}
    return subject, body(value)


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize(("version", "field"), [(V1, "text"), (V2, "reason"), (V3, "why")])
def test_every_version_is_read_as_todays(version: str, field: str) -> None:
    event = read_event(*old(version, field, "no room"))
    assert (event.type, event.data.detail.why) == (V3, "no room")


@pytest.mark.usefixtures("third")
def test_a_newer_version_is_refused_with_the_remedy() -> None:
    with pytest.raises(UnreadableEvent) as caught:
        read_event(*old(V4, "why", "tomorrow"))
    assert f"{V4} is newer than {V3}: upgrade, then replay" in str(caught.value)


@pytest.mark.usefixtures("third")
def test_a_version_that_only_looks_like_todays_is_refused() -> None:
    subject, message = old(V1, "why", "the new field under the old name")
    with pytest.raises(UnreadableEvent):
        read_event(subject, message.replace(b'"why"', b'"surprise"'))
    with pytest.raises(UnreadableEvent, match=r"no upcaster from .*v0"):
        read_event(subject, message.replace(b"failed.v1", b"failed.v0"))


@pytest.mark.usefixtures("third")
def test_a_gap_in_the_chain_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(UPCASTERS, V2)
    with pytest.raises(UnreadableEvent, match=f"no upcaster from {V2} to {V3}"):
        read_event(*old(V1, "text", "gap"))


STUMBLES: dict[str, Callable[[Value], Any]] = {
    "a field that is not there": lambda value: value["data"]["nothing"],
    "another shape": lambda value: value["data"]["job"]["phase"]["name"],
    "no mapping": lambda value: value["id"].items(),
    "no number": lambda value: int(value["source"]),
    "a division": lambda value: 1 // len(value["data"]["job"].get("nothing", "")),
    "nothing at all": lambda value: None,
    "a list": lambda value: [1],
}


@pytest.mark.parametrize("upcaster", STUMBLES.values(), ids=list(STUMBLES))
def test_an_upcaster_that_stumbles_over_a_message_refuses_it(
    upcaster: Callable[[Value], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = V1.replace("v1", "v0")
    monkeypatch.setitem(UPCASTERS, before, upcaster)
    with pytest.raises(UnreadableEvent, match=f"no {before} inside"):
        read_event(*old(before, "why", str(upcaster)))


@pytest.mark.usefixtures("third")
def test_a_message_of_the_present_version_is_never_upcast() -> None:
    subject, message = old(V3, "text", "wrong field")
    with pytest.raises(UnreadableEvent, match="why"):
        read_event(subject, message)


def test_upcasting_leaves_the_rest_of_a_message_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTERS, V1, lambda value: {**value, "added": 1})
    found = json.loads(upcast(b'{"type": "' + V1.encode() + b'", "kept": [1, "\xc3\xa9"]}', V2))
    assert found == {"type": V2, "kept": [1, "é"], "added": 1}


@pytest.mark.parametrize(
    "message", [b"[]", b"7", b"{}", b'{"type": 7}', b'{"type": null}', b"[" * 10**5]
)
def test_what_has_no_type_cannot_be_upcast(message: bytes) -> None:
    assert type_of(message) is None
    with pytest.raises(NoUpcaster):
        upcast(message, V1)


@pytest.mark.parametrize("message", [b"", b"{", b"\xff", b"{'type': 1}"])
def test_what_is_not_json_has_no_type(message: bytes) -> None:
    assert type_of(message) is None
    with pytest.raises(ValueError, match=r".+"):
        upcast(message, V1)
