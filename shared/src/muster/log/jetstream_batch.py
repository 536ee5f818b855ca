"""Appending many events at once: all are stored or none, each on its own condition.

A batch is never sent a second time from here: after a silence nobody knows whether it will still
land, and only its author knows what to do then. Called by the adapter of the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nats.aio.msg import Msg

from muster.domain.errors import Conflict, Permanent
from muster.log import Append, UnknownOutcome
from muster.log.jetstream_headers import headers_of
from muster.log.jetstream_wire import (
    NO_RESPONDERS,
    Refused,
    Unanswered,
    Wire,
    parsed,
    status_of,
)
from muster.log.jetstream_writing import CONFLICTS, is_final

MAX_BATCH = 1000
FLUSHED = 32
DUPLICATE_IN_BATCH = 10201
INCOMPLETE = 10176


async def append_batch(wire: Wire, appends: Sequence[Append], *, timeout: float) -> int:
    """Write everything and return the sequence of the first; the others follow without a gap.

    Raises Conflict (nothing was written), UnknownOutcome, Permanent.
    """
    if len(appends) > MAX_BATCH:
        raise Permanent(f"a batch holds at most {MAX_BATCH} messages, not {len(appends)}")
    try:
        message = await _send(wire, appends, timeout)
        last = int(parsed(message.data)["seq"])
    except Unanswered as silence:
        raise UnknownOutcome(f"a batch of {len(appends)}: {silence}") from silence
    except Refused as refused:
        raise _translated(refused, len(appends)) from refused
    return last - len(appends) + 1


async def _send(wire: Wire, appends: Sequence[Append], timeout: float) -> Msg:
    """Send all without waiting in between; the first answer that has a body is the answer.

    The server confirms the first message with an empty one, and the last with the outcome; it
    refuses a batch by an error to either.
    """
    answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()

    def receive(message: Msg) -> None:
        if answer.done():
            return
        if message.data:
            answer.set_result(message)
        elif status_of(message) == NO_RESPONDERS:
            answer.set_exception(Unanswered("nobody serves the log now"))

    inbox = await wire.open_inbox(receive)
    batch, last = inbox.rpartition(".")[0][-22:] + inbox.rpartition(".")[2], len(appends)
    try:
        async with asyncio.timeout(timeout):
            for number, append in enumerate(appends, start=1):
                place = (batch, number, number == last)
                headers = headers_of(append.event, append.basis, place)
                reply = inbox if number in {1, last} else ""
                await wire.send(append.event.subject, append.event.to_bytes(), reply, headers)
                if number % FLUSHED == 0:
                    await asyncio.sleep(0)  # what is ready goes out while the rest is made
            return await answer
    except TimeoutError as error:
        raise Unanswered(f"no answer within {timeout:g} s") from error
    finally:
        wire.close_inbox(inbox)
        answer.cancel()


def _translated(refused: Refused, size: int) -> Exception:
    what = f"a batch of {size}: {refused}"
    if refused.err_code in CONFLICTS:
        return Conflict(what)
    if refused.err_code == DUPLICATE_IN_BATCH:
        return Conflict(f"{what}; its events were written before")
    if refused.err_code == INCOMPLETE or not is_final(refused):
        return UnknownOutcome(what)
    return Permanent(what)
