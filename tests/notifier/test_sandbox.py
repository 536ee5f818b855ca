"""The stand-in refuses as the real bot does, breaks lines on demand, and shows cards safely."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.notifier.sandbox import HOOK, Bot, Receiver, serving
from muster.notifier.sandbox.answers import KEPT, MODES, REFUSED, TEXTS
from muster.notifier.sandbox.bots import may_come_from
from muster.notifier.sandbox.cards import MAX_COMPONENTS, faults
from muster.notifier.sandbox.page import card_html

GOLDEN = Path(__file__).parent / "golden"
CARDS = {path.stem: json.loads(path.read_text())["card"] for path in GOLDEN.glob("*.json")}
CARD = CARDS["failed.zh"]
TEXT = {"msg_type": "text", "content": {"text": "训练 one"}}
HTTP = sorted(MODES - {"hang", "reset", "reset_after", "slow"})


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def bot(**options: Any) -> tuple[Receiver, Clock]:
    clock = Clock()
    return Receiver({"t1": Bot(**options)}, clock), clock


def code(receiver: Receiver, message: object = TEXT, peer: str = "127.0.0.1") -> int:
    return receiver.take("t1", json.dumps(message).encode(), peer)[0]


def changed(path: str, value: object) -> dict[str, Any]:
    """The golden card with one value set, by its path."""
    card: Any = copy.deepcopy(CARD)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    node = card
    for step in way:
        node = node[step]
    node[last] = value
    found: dict[str, Any] = card
    return found


@pytest.mark.parametrize("name", sorted(CARDS))
def test_every_golden_card_is_right(name: str) -> None:
    assert faults(CARDS[name]) == []


@pytest.mark.parametrize(
    ("path", "value", "at"),
    [
        ("schema", "1.0", "card.schema"),
        ("i18n_elements", {}, "card.i18n_elements"),
        ("fallback", {}, "card.fallback"),
        ("config.wide_screen_mode", True, "card.config.wide_screen_mode"),
        ("config.update_multi", False, "card.config.update_multi"),
        ("header.template", "pink", "card.header.template"),
        ("header.title", "a text", "card.header.title"),
        ("header.title.tag", "markdown", "card.header.title.tag"),
        ("body.elements", {}, "card.body.elements"),
        ("body.elements.0", {"tag": "note"}, "card.body.elements[0]"),
        ("body.elements.0.url", "x", "card.body.elements[0].url"),
        ("body.elements.0.text.content", 3, "card.body.elements[0].text.content"),
        ("body.elements.0", {"tag": "markdown"}, "card.body.elements[0].content"),
        ("body.elements.0", "a text", "card.body.elements[0]"),
    ],
)
def test_what_json_2_does_not_know_is_an_error(path: str, value: object, at: str) -> None:
    (fault,) = faults(changed(path, value))
    assert (fault.code, fault.path) == (200621, at)


@pytest.mark.parametrize("missing", ["schema", "header", "body"])
def test_what_is_needed_is_missed(missing: str) -> None:
    card = {name: value for name, value in CARD.items() if name != missing}
    assert [fault.path for fault in faults(card)] == [f"card.{missing}"]


@pytest.mark.parametrize(("count", "codes"), [(MAX_COMPONENTS, []), (MAX_COMPONENTS + 1, [230099])])
def test_components_are_counted(count: int, codes: list[int]) -> None:
    tags = 1  # the title's
    card = {
        "schema": "2.0",
        "header": {"title": {"tag": "plain_text", "content": "x"}},
        "body": {"elements": [{"tag": "hr"}] * (count - tags)},
    }
    assert [fault.code for fault in faults(card)] == codes


def test_more_than_30_kb_and_a_mention_of_nobody_are_refused() -> None:
    long = {"tag": "markdown", "content": "x" * 30_720}
    assert [fault.code for fault in faults(changed("body.elements.0", long))] == [230099]
    nobody = {"tag": "markdown", "content": "<at email=x@y></at>"}
    assert [fault.code for fault in faults(changed("body.elements.0", nobody))] == [11246]
    everybody = {"tag": "markdown", "content": "<at id=all></at>"}
    assert faults(changed("body.elements.0", everybody)) == []


def test_five_in_a_second_and_a_hundred_in_a_minute() -> None:
    receiver, clock = bot(limited=True)
    assert [code(receiver) for _ in range(6)] == [0] * 5 + [11232]
    clock.now += 1
    assert code(receiver) == 0
    receiver, clock = bot(limited=True)
    for number in range(101):
        assert code(receiver) == (0 if number < 100 else 11232)
        clock.now += 0.25
    clock.now += 60
    assert code(receiver) == 0


@pytest.mark.parametrize(
    ("options", "peer", "expected"),
    [
        ({"enabled": False}, "127.0.0.1", 19007),
        ({"addresses": ("123.12.1.*",)}, "123.12.1.200", 0),
        ({"addresses": ("123.12.1.*",)}, "123.12.2.1", 19022),
        ({"addresses": ("123.1.1.1/24",)}, "123.1.1.255", 0),
        ({"addresses": ("123.1.1.1/24",)}, "123.1.2.0", 19022),
        ({"addresses": ("10.0.0.1",)}, "::1", 19022),
        ({"keywords": ("训练",)}, "127.0.0.1", 0),
        ({"keywords": ("trainings", "notice")}, "127.0.0.1", 19024),
    ],
)
def test_security_modes(options: dict[str, Any], peer: str, expected: int) -> None:
    receiver, _ = bot(**options)
    assert code(receiver, peer=peer) == expected
    assert may_come_from(Bot(), peer)


@pytest.fixture
async def line() -> AsyncIterator[tuple[Receiver, httpx.AsyncClient]]:
    receiver, _ = bot()
    async with (
        serving(receiver) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False, timeout=5) as client,
    ):
        yield receiver, client


async def test_every_mode_answers_and_keeps_what_it_says(
    line: tuple[Receiver, httpx.AsyncClient],
) -> None:
    receiver, client = line
    for mode in HTTP:
        receiver.received.clear()
        receiver.bots["t1"].next.append(mode)
        reply = await client.post(f"{HOOK}t1", json=TEXT)
        expected = {**REFUSED, **KEPT}[mode]
        assert (reply.status_code, reply.content) == (expected.status, expected.body), mode
        assert bool(receiver.received) == (mode in KEPT), mode
        if mode.isdigit():
            assert reply.json() == {"code": int(mode), "msg": TEXTS[int(mode)], "data": {}}
    assert (await client.post(f"{HOOK}t1", json=TEXT)).json()["code"] == 0


@pytest.mark.parametrize(("mode", "kept"), [("reset", 0), ("reset_after", 1)])
async def test_a_connection_is_reset(
    line: tuple[Receiver, httpx.AsyncClient], mode: str, kept: int
) -> None:
    receiver, client = line
    receiver.bots["t1"].next.append(mode)
    with pytest.raises(httpx.ReadError):
        await client.post(f"{HOOK}t1", json=TEXT)
    assert len(receiver.received) == kept


async def test_a_bot_that_hangs_has_the_message(
    line: tuple[Receiver, httpx.AsyncClient],
) -> None:
    receiver, client = line
    receiver.bots["t1"].next.append("hang")
    with pytest.raises(httpx.ReadTimeout):
        await client.post(f"{HOOK}t1", json=TEXT, timeout=0.3)
    assert len(receiver.received) == 1


async def test_bots_are_set_up_from_outside(line: tuple[Receiver, httpx.AsyncClient]) -> None:
    _, client = line
    form = {"secret": "hidden-key", "keywords": ["训练"], "next": ["11232"], "limited": False}
    assert (await client.put("/sandbox/bots/t2", json=form)).status_code == 200
    listed = await client.get("/sandbox/bots")
    assert [each["token"] for each in listed.json()["bots"]] == ["t1", "t2"]
    assert "hidden-key" not in listed.text
    assert (await client.post(f"{HOOK}t2", json=TEXT)).json()["code"] == 11232
    assert (await client.post(f"{HOOK}t2", json=TEXT)).json()["code"] == 19021
    assert (await client.delete("/sandbox/bots/t2")).status_code == 200
    assert (await client.post(f"{HOOK}t2", json=TEXT)).json()["code"] == 19001
    await client.post(f"{HOOK}t1", json=TEXT)
    assert (await client.delete("/received")).status_code == 200
    assert (await client.get("/received")).json() == {"received": []}


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"mode": "4711"}, "mode"),
        ({"next": ["ok", "no"]}, "next.1"),
        ({"addresses": ["::1"]}, "addresses.0"),
        ({"addresses": ["1.2.3.4"] * 11}, "addresses"),
        ({"keywords": ["x"] * 11}, "keywords"),
        ({"name": "x"}, "name"),
    ],
)
async def test_a_bot_that_cannot_be_is_refused(
    line: tuple[Receiver, httpx.AsyncClient], form: dict[str, object], field: str
) -> None:
    _, client = line
    reply = await client.put("/sandbox/bots/t3", json=form)
    assert reply.status_code == 422
    assert [each["field"] for each in reply.json()["violations"]] == [field]


async def test_the_page_shows_cards_and_runs_nothing(
    line: tuple[Receiver, httpx.AsyncClient],
) -> None:
    _, client = line
    nasty = "<script>alert(1)</script>\"'><img src=x>"
    card = changed("header.title.content", nasty)
    assert (await client.post(f"{HOOK}t1", json={"msg_type": "interactive", "card": card})).json()[
        "code"
    ] == 0
    page = await client.get("/")
    assert "&lt;script&gt;" in page.text
    assert "<script" not in page.text
    assert "<img" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//host/x", ""])
def test_a_button_leads_to_the_web_or_nowhere(url: str) -> None:
    button = {
        "tag": "button",
        "text": {"tag": "plain_text", "content": "go"},
        "behaviors": [{"type": "open_url", "default_url": url}],
    }
    drawn = card_html(changed("body.elements.0", button))
    assert f'href="{url}"' not in drawn
    assert ">go</span>" in drawn
