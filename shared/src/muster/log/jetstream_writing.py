"""Appending one event on condition, and finding out what became of it when nobody says.

The server answers a repeated message whose first copy it has stored with "wrong last sequence", so
every refusal and every silence is resolved by reading the leader: an event with our id there was
written by us. Called by the adapter of the log.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from muster.contracts.events import Event
from muster.domain.errors import Conflict, Permanent
from muster.domain.troubles import LIMITS
from muster.log import Basis, UnknownOutcome
from muster.log.jetstream_headers import headers_of
from muster.log.jetstream_reading import Reading
from muster.log.jetstream_wire import Refused, Unanswered, Wire, parsed, stored_seq

WRONG_LAST = 10071
IN_FLIGHT = 10164
CONFLICTS = frozenset({WRONG_LAST, IN_FLIGHT})

PAUSE_S = 0.05
MAX_PAUSE_S = 1.0
_FOUND_AT = re.compile(r"wrong last sequence: (\d+)")


@dataclass(slots=True)
class _Write:
    event: Event
    basis: Basis
    body: bytes
    headers: dict[str, str]


def is_final(refused: Refused) -> bool:
    """Tell whether the server refuses this message for good.

    Not final: 5xx and 429, which may be over soon, 409, where another copy is being stored, and a
    limit of the account, for which the server has code 400.
    """
    return (
        refused.err_code not in LIMITS
        and 400 <= refused.code < 500
        and refused.code not in {408, 409, 429}
    )


class Writing:
    """Conditional appends. patience: seconds of trying before the outcome is called unknown."""

    def __init__(self, wire: Wire, reading: Reading, *, timeout: float, patience: float) -> None:
        self._wire, self._reading = wire, reading
        self._timeout, self._patience = timeout, patience

    async def append(self, event: Event, basis: Basis) -> int:
        """Write one event and return its sequence. Raises Conflict, UnknownOutcome, Permanent."""
        write = _Write(event, basis, event.to_bytes(), headers_of(event, basis))
        try:
            return await self._send(write)
        except Unanswered as silence:
            return await self._insist(write, silence)

    async def _insist(self, write: _Write, silence: Unanswered) -> int:
        """Look for the event, send it again with the same id, until one of both succeeds."""
        pause = PAUSE_S
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, MAX_PAUSE_S)
                    try:
                        found = await self._find(write)
                        return await self._send(write) if found is None else found
                    except Unanswered as error:
                        silence = error
        except TimeoutError as error:
            raise UnknownOutcome(f"{write.event.subject}: {silence}") from error

    async def _send(self, write: _Write) -> int:
        """Send once. Raises Unanswered when it is worth another try."""
        event = write.event
        message = await self._wire.ask(
            event.subject, write.body, write.headers, timeout=self._timeout
        )
        if seq := stored_seq(message.data):
            return seq
        try:
            answer = parsed(message.data)
        except Refused as refused:
            return await self._refused(write, refused)
        if answer.get("duplicate"):
            return await self._resolve(write, "its id is in the log already")
        return int(answer["seq"])

    async def _refused(self, write: _Write, refused: Refused) -> int:
        if refused.err_code not in CONFLICTS:
            if is_final(refused):
                raise Permanent(f"{write.event.subject}: {refused}") from refused
            raise Unanswered(f"{write.event.subject}: {refused}") from refused
        told = _FOUND_AT.search(refused.description)
        if told is None:
            # What is in flight may be our own first copy, or what a new leader has not counted yet.
            raise Unanswered(f"{write.event.subject}: {refused}") from refused
        return await self._resolve(write, str(refused), int(told[1]))

    async def _resolve(self, write: _Write, why: str, head: int = 0) -> int:
        """Return the sequence if it was we who wrote. Raises Conflict when it was somebody else."""
        found = await self._find(write, head)
        if found is None:
            raise Conflict(f"{write.basis.key.condition} is not at {write.basis.seq}: {why}")
        return found

    async def _find(self, write: _Write, head: int = 0) -> int | None:
        """Return the sequence of the event with our id at the leader, None if it is not there.

        head: what the key's last sequence is known to be; a leader that is behind it (since it was
        deposed and does not know) is no witness.
        """
        newest = await self._reading.leader_last(write.basis.key.condition)
        if (newest.seq if newest else 0) < head:
            raise Unanswered(f"the leader is behind {head}")
        if newest is not None and newest.id == write.event.id:
            return newest.seq
        after = write.basis.seq
        while found := await self._reading.leader_next(write.event.subject, after + 1):
            if found.id == write.event.id:
                return found.seq
            after = found.seq
        return None
