"""Jobs whose newest message in the log this version cannot read: shown by their last event.

Called by `muster doctor`. Changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from muster.cli.checkup.finding import Finding, fine, warning
from muster.cli.texts import say
from muster.client import MusterClient
from muster.contracts import subjects
from muster.domain.errors import Temporary
from muster.log import Unreadable

SHOWN = 5


async def jobs(client: MusterClient) -> AsyncIterator[Finding]:
    """Yield one finding; none where there is nothing to read, which is said of the streams."""
    try:
        found = await client.unreadable()
    except Temporary:
        return
    if not found:
        yield fine("status")
        return
    names = [_job(message) for message in found[-SHOWN:]] + (["…"] if len(found) > SHOWN else [])
    yield warning(
        "status.unreadable", count=len(found), jobs=say("comma").join(names), why=found[-1].why
    )


def _job(message: Unreadable) -> str:
    try:
        return "/".join(subjects.parse(message.subject).names)
    except subjects.BadSubject:
        return message.subject
