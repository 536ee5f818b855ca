"""Each row of the table of errors, on the line: attempts, the times between them, the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from muster.domain import facts as f
from muster.notifier import store
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import Means, kinds
from muster.notifier.channels.port import Address
from muster.notifier.channels.signature import sign
from muster.notifier.rulebook import Rulebook
from muster.notifier.sandbox import HOOK
from muster.runtime.service import Service
from tests.notifier.lives import EVERY, queued
from tests.notifier.stage import ORIGIN, Stage, hear, look, loop, turn
from tests.notifier.wire import OK, Reply, Wire, code
from tests.support.leaks import KEY, TOKEN

URL = SecretStr(f"{ORIGIN}{HOOK}{TOKEN}")
PLAIN = Rulebook(EVERY, {"ops": Address(URL, SecretStr(KEY))})
KEYED = Rulebook(EVERY, {"ops": Address(URL, SecretStr(KEY), ("训练",))})
CARD, TEXT = "interactive", "text"
PROBE_S = 600.0
UNKNOWN_S = 30.0


@dataclass
class Line:
    """A notifier, its ledger, and what its requests meet."""

    stage: Stage
    wire: Wire

    async def starts(self, book: Rulebook = PLAIN) -> Service:
        means = Means(Allowlist(frozenset({ORIGIN})), transport=self.wire)
        channel = kinds()["feishu"].build(means)
        channel.limits = None  # type: ignore[misc]
        return await self.stage.starts(book, {"feishu": channel})

    async def runs(self, service: Service, seconds: float = 86_500.0) -> None:
        """Let time pass, from one instant at which something is due to the next."""
        end = self.stage.clock.at + timedelta(seconds=seconds)
        while self.stage.clock.at <= end:
            await look(service)
            await turn([loop(service, "ledger")])
            ahead = await self._next()
            if ahead is None:
                return
            self.stage.clock.at = ahead

    async def _next(self) -> datetime | None:
        """When something may happen again to what waits; None if nothing waits."""
        rows, lanes, now = store.deliveries.c, store.lanes.c, self.stage.clock.at
        waits = sa.select(rows.next_attempt_at, rows.expires_at).where(rows.settled_at.is_(None))
        kept = sa.select(lanes.paused_until, lanes.probe_at)

        def read(conn: sa.Connection) -> tuple[list[Any], list[Any]]:
            found = conn.execute(waits.where(rows.due_at.is_(None))).all()
            return [at for row in found for at in row], [at for r in conn.execute(kept) for at in r]

        mine, others = await self.stage.databases[-1].run(read)
        later = [at for at in (*mine, *others) if at is not None and at > now]
        return min(later, default=now + timedelta(seconds=60)) if mine else None

    async def circuit(self) -> str:
        query = sa.select(store.lanes.c.circuit_code).where(store.lanes.c.turn > 0)
        return str(await self.stage.databases[-1].run(lambda conn: conn.execute(query).scalar()))

    async def tells(self, *replies: Reply, urgent: bool = False, book: Rulebook = PLAIN) -> str:
        """Tell that a job queues, or needs a person; `replies` come back. Returns the end."""
        service = await self.starts(book)
        self.wire.replies = list(replies)
        life = queued().then(f.QueueTimedOut(entry=1)) if urgent else queued()
        self.stage.clock.at = life.state.since
        await hear(service, *life.steps[-1])
        await self.runs(service)
        states = {name: state for name, state, _ in await self.stage.rows()}
        (state,) = (state for name, state in states.items() if "reminder" not in name)
        return state


@pytest.fixture
async def line(tmp_path: Path, database_url: str) -> AsyncIterator[Line]:
    stage = Stage(tmp_path, database_url)
    yield Line(stage, Wire(stage.clock.now))
    for service in stage.services:
        await service.stop()


PASSING = {
    "frequency": code(11232, "frequency limited psm[lark.oapi]appID[1500]"),
    "too many": code(9499, "too many request"),
    "too many, as 400": code(9499, "too many request", status=400),
    "internal": code(2200, "internal error"),
    "app frequency": code(99991400, "request trigger frequency limit"),
    "429": Reply("", 429),
    "500": Reply("oops", 500),
    "503 of a proxy": Reply("<html>", 503),
    "no connection": Reply(lost=httpx.ConnectError),
    "connection takes too long": Reply(lost=httpx.ConnectTimeout),
}


@pytest.mark.parametrize("name", PASSING)
async def test_what_passes_is_tried_again_after_1_2_4_seconds_at_most(
    line: Line, name: str
) -> None:
    assert await line.tells(*[PASSING[name]] * 4) == "delivered"
    assert line.wire.forms == [CARD] * 5
    assert all(0 < gap <= most for gap, most in zip(line.wire.gaps, (1, 2, 4, 8), strict=True))
    assert "重复发送" not in str(line.wire.sent[-1]), "nobody has seen the others"
    assert await line.circuit() == ""


async def test_what_does_not_pass_in_half_an_hour_is_no_news_any_more(line: Line) -> None:
    assert await line.tells(*[PASSING["frequency"]] * 5000) == "stale"
    assert 25 < len(line.wire.at) < 200
    assert max(line.wire.gaps) <= 61
    assert line.wire.at[-1] - line.wire.at[0] < timedelta(minutes=30)


async def test_what_a_person_must_act_on_is_tried_for_a_day(line: Line) -> None:
    slow = Reply("", 429, {"Retry-After": "3600"})
    assert await line.tells(*[slow] * 500, urgent=True) == "stale"
    assert len(line.wire.at) == 24
    assert min(line.wire.gaps) >= 3600


@pytest.mark.parametrize("asked", [7, 90])
async def test_the_wait_that_is_asked_for_is_kept(line: Line, asked: int) -> None:
    assert await line.tells(Reply("", 429, {"Retry-After": str(asked)})) == "delivered"
    assert asked <= line.wire.gaps[0] <= asked + 1


FINAL = {
    "bad parameter": code(19002, "param invalid: msg_type"),
    "another 11310": code(11310, "cardid is invalid"),
    "another 99991400": code(99991400, "access denied"),
    "never seen": code(424242, "something new"),
    "redirect": Reply("", 302, {"Location": "https://elsewhere.example/"}),
    "not found": Reply("<html>", 404),
}


@pytest.mark.parametrize("name", FINAL)
async def test_what_is_refused_for_good_is_tried_once(line: Line, name: str) -> None:
    assert await line.tells(FINAL[name], urgent=True) == "dead"
    assert line.wire.forms == [CARD]
    assert await line.circuit() == "", "the next one may do"


CONTENT = {
    "bad request": code(9499, "Bad Request"),
    "bad request beside an old success": Reply(
        {"code": 9499, "msg": "fail to parse content", "StatusCode": 0}
    ),
    "invalid at": code(11246, "path: message->card; err_msg: invalid at user"),
    "card does not parse": code(200621, "parse card json err"),
    "card": code(230099, "Failed to create card content"),
    "tables": code(11310, "card table number over limit"),
}


@pytest.mark.parametrize("name", CONTENT)
async def test_a_card_that_is_refused_goes_once_as_text(line: Line, name: str) -> None:
    assert await line.tells(CONTENT[name]) == "delivered"
    assert line.wire.forms == [CARD, TEXT]


@pytest.mark.parametrize("name", CONTENT)
async def test_text_that_is_refused_too_is_dead(line: Line, name: str) -> None:
    assert await line.tells(CONTENT[name], CONTENT[name]) == "dead"
    assert line.wire.forms == [CARD, TEXT]


CLOSED = {
    "no such bot": code(19001, "param invalid: incoming webhook access token invalid"),
    "disabled": code(19007, "Bot Not Enabled"),
    "address": code(19022, "Ip Not Allowed"),
}


@pytest.mark.parametrize("name", CLOSED)
async def test_an_address_that_refuses_all_is_left_alone_and_probed(line: Line, name: str) -> None:
    service = await line.starts()
    line.wire.replies = [CLOSED[name]] * 2
    for number in range(3):
        await hear(service, *queued(job=f"j{number}").steps[-1])
    line.stage.clock.at = queued().state.since
    await look(service)
    assert await line.circuit() == str(CLOSED[name].body["code"])  # type: ignore[index]
    await line.runs(service)
    assert [state for _, state, _ in await line.stage.rows()] == ["dead", "delivered", "delivered"]
    assert line.wire.gaps == [PROBE_S, PROBE_S, 0], "each by one message, which waits on"
    assert await line.circuit() == ""


SIGNATURE = code(19021, "sign match fail or timestamp is not within one hour from current time")


@pytest.mark.case("NTF-03")
async def test_a_wrong_secret_is_tried_twice_and_then_the_address_is_left_alone(
    line: Line,
) -> None:
    assert await line.tells(SIGNATURE, SIGNATURE) == "dead"
    assert line.wire.gaps == [0]
    assert await line.circuit() == "19021"


async def test_the_second_signature_is_made_with_the_clock_of_the_reply(line: Line) -> None:
    theirs = queued().state.since + timedelta(hours=2)
    told = replace(SIGNATURE, headers={"Date": format_datetime(theirs, usegmt=True)})
    assert await line.tells(told) == "delivered"
    first, second = (int(body["timestamp"]) for body in line.wire.sent)
    assert second - first == 7200
    assert line.wire.sent[1]["sign"] == sign(second, KEY)


KEYWORD = code(19024, "Key Words Not Found")


async def test_a_missing_keyword_is_added_once_if_it_is_known(line: Line) -> None:
    assert await line.tells(KEYWORD, book=KEYED) == "delivered"
    assert line.wire.forms == [CARD, TEXT]
    assert "训练" in line.wire.sent[1]["content"]["text"]


@pytest.mark.case("NTF-13")
@pytest.mark.parametrize(("book", "requests"), [(PLAIN, 1), (KEYED, 2)])
async def test_a_keyword_that_is_not_known_is_a_persons_matter(
    line: Line, book: Rulebook, requests: int
) -> None:
    assert await line.tells(KEYWORD, KEYWORD, book=book) == "dead"
    assert len(line.wire.at) == requests


UNKNOWN = {
    "no answer": Reply(lost=httpx.ReadTimeout),
    "cut off": Reply(lost=httpx.RemoteProtocolError),
    "page": Reply("<html>hello</html>"),
    "nothing": Reply(""),
    "empty object": Reply({}),
    "code as text": Reply({"code": "0"}),
}


@pytest.mark.parametrize("name", UNKNOWN)
async def test_what_may_have_arrived_is_not_repeated(line: Line, name: str) -> None:
    assert await line.tells(UNKNOWN[name]) == "unknown"
    assert len(line.wire.at) == 1


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize(("after", "state"), [(OK, "delivered"), (None, "unknown")])
async def test_what_a_person_must_act_on_is_repeated_once_and_says_so(
    line: Line, name: str, after: Reply | None, state: str
) -> None:
    assert await line.tells(UNKNOWN[name], after or UNKNOWN[name], urgent=True) == state
    assert line.wire.gaps == [UNKNOWN_S]
    first, second = (str(body) for body in line.wire.sent)
    assert "重复发送" not in first
    assert "重复发送" in second
    assert first.partition("通知编号")[2][:15] == second.partition("通知编号")[2][:15]


@pytest.mark.case("NTF-01")
@pytest.mark.parametrize(
    "reply",
    [OK, Reply({"StatusCode": 0, "StatusMessage": "success"}), Reply({"code": 0, "StatusCode": 1})],
)
async def test_success_is_the_bots_own_word(line: Line, reply: Reply) -> None:
    assert await line.tells(reply) == "delivered"
    assert len(line.wire.at) == 1
