"""Reading events out of a stream: the newest of a key, all of a key, and what the leader knows.

A direct get is served by any replica, and a replica may lag; what must be certain asks the leader.
Called by the adapter of the log; writes nothing.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from nats.aio.msg import Msg

from muster.contracts.conditions import require_condition
from muster.contracts.events import UnreadableEvent, read_event
from muster.contracts.subjects import Key
from muster.log import Recorded, Unreadable
from muster.log.jetstream_headers import MSG_ID
from muster.log.jetstream_wire import Refused, Unanswered, Wire, status_of

T = TypeVar("T")

NOT_FOUND = 10037
PAGE = 256
PAUSE_S = 0.05
MAX_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as the stream has it."""

    subject: str
    seq: int
    at: datetime
    body: bytes
    headers: Mapping[str, str]

    @property
    def id(self) -> str | None:
        """The message's own identity."""
        return self.headers.get(MSG_ID)


def interpreted(stored: Stored, head: int | None = None) -> Recorded | Unreadable:
    """Read a stored message as an event. head: the last sequence of its key, if another."""
    try:
        event = read_event(stored.subject, stored.body)
        require_condition(stored.subject, stored.headers)
    except UnreadableEvent as error:
        return Unreadable(stored.subject, stored.seq, str(error))
    return Recorded(event, stored.seq, stored.at, head or stored.seq)


class Reading:
    """Questions about one stream. patience: seconds to go on asking when nobody answers."""

    def __init__(self, wire: Wire, stream: str, *, timeout: float, patience: float) -> None:
        self._wire, self._stream = wire, stream
        self._timeout, self._patience = timeout, patience
        self._direct = f"$JS.API.DIRECT.GET.{stream}"
        self._leader = f"$JS.API.STREAM.MSG.GET.{stream}"
        self._info = f"$JS.API.STREAM.INFO.{stream}"
        self._purge = f"$JS.API.STREAM.PURGE.{stream}"

    async def last(self, pattern: str) -> Stored | None:
        """Return the newest message of a filter from whichever replica answers."""
        body = json.dumps({"last_by_subj": pattern}).encode()

        async def ask() -> Stored | None:
            return _from_headers(await self._wire.ask(self._direct, body, timeout=self._timeout))

        return await self._patiently(ask)

    async def leader_last(self, pattern: str) -> Stored | None:
        """Return the newest message of a filter as the stream's leader knows it."""
        return await self._leader_get({"last_by_subj": pattern})

    async def leader_next(self, pattern: str, seq: int) -> Stored | None:
        """Return the first message of a filter from a sequence on, as the leader knows it."""
        return await self._leader_get({"seq": seq, "next_by_subj": pattern})

    async def _leader_get(self, question: dict[str, object]) -> Stored | None:
        async def ask() -> Stored | None:
            try:
                answer = await self._wire.call(self._leader, question, timeout=self._timeout)
            except Refused as refused:
                if refused.err_code == NOT_FOUND:
                    return None
                raise Unanswered(f"{self._stream}: {refused}") from refused
            return _from_json(answer["message"])

        return await self._patiently(ask)

    async def state(self) -> tuple[int, datetime]:
        """Return the stream's last sequence and the leader's time."""

        async def ask() -> tuple[int, datetime]:
            try:
                answer = await self._wire.call(self._info, timeout=self._timeout)
            except Refused as refused:
                raise Unanswered(f"{self._stream}: {refused}") from refused
            return int(answer["state"]["last_seq"]), datetime.fromisoformat(answer["ts"])

        return await self._patiently(ask)

    async def purge(self, pattern: str, before: int) -> None:
        """Delete the messages of a filter below a sequence."""
        question: dict[str, object] = {"filter": pattern, "seq": before}

        async def ask() -> None:
            try:
                await self._wire.call(self._purge, question, timeout=self._timeout)
            except Refused as refused:
                raise Unanswered(f"{self._stream}: {refused}") from refused

        await self._patiently(ask)

    async def history(self, key: Key) -> Sequence[Recorded | Unreadable]:
        """Return everything of a key up to what the leader has as its newest.

        The pages come from any replica; one that lags ends early and is asked again.
        """
        newest = await self.leader_last(key.condition)
        found: list[Stored] = []
        behind = PAUSE_S
        while newest is not None and (not found or found[-1].seq < newest.seq):
            after = found[-1].seq if found else 0
            page = await self._page(key.condition, after + 1)
            found += page
            if not page:
                if behind > self._patience:
                    raise Unanswered(f"no replica of {self._stream} has reached {newest.seq}")
                await asyncio.sleep(min(behind, MAX_PAUSE_S))
                behind *= 2
                newest = await self.leader_last(key.condition)
        return [interpreted(stored) for stored in found]

    async def _page(self, pattern: str, seq: int) -> list[Stored]:
        body = json.dumps({"seq": seq, "next_by_subj": pattern, "batch": PAGE}).encode()

        async def ask() -> list[Stored]:
            messages: asyncio.Queue[Msg] = asyncio.Queue()
            inbox = await self._wire.open_inbox(messages.put_nowait)
            try:
                await self._wire.send(self._direct, body, inbox)
                return await self._until_end(messages)
            finally:
                self._wire.close_inbox(inbox)

        return await self._patiently(ask)

    async def _until_end(self, messages: asyncio.Queue[Msg]) -> list[Stored]:
        found: list[Stored] = []
        try:
            while True:
                async with asyncio.timeout(self._timeout):
                    stored = _from_headers(await messages.get())
                if stored is None:
                    return found
                found.append(stored)
        except TimeoutError as error:
            raise Unanswered(f"a page of {self._stream} did not come to its end") from error

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again while nobody answers, as during the election of a leader."""
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + self._patience, PAUSE_S
        while True:
            try:
                return await ask()
            except Unanswered:
                if loop.time() + pause >= end:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)


def _from_headers(message: Msg) -> Stored | None:
    """Read an answer of a direct get; None for "nothing there" and for the end of a page."""
    headers = message.headers or {}
    if "Nats-Sequence" not in headers:
        status = status_of(message)
        if status in {"404", "204"}:
            return None
        raise Unanswered(f"a direct get was answered with status {status}")
    return Stored(
        headers["Nats-Subject"],
        int(headers["Nats-Sequence"]),
        datetime.fromisoformat(headers["Nats-Time-Stamp"]),
        message.data,
        headers,
    )


def _from_json(message: dict[str, Any]) -> Stored:
    return Stored(
        message["subject"],
        int(message["seq"]),
        datetime.fromisoformat(message["time"]),
        base64.b64decode(message.get("data", "")),
        _headers_in(base64.b64decode(message.get("hdrs", ""))),
    )


def _headers_in(block: bytes) -> dict[str, str]:
    lines = block.decode("utf-8", "replace").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in pairs}
