"""Questions to the notifier, for clients: core NATS, request and reply.

What is asked may hold a webhook and a secret: nothing of it is logged or repeated in an error.
"""

from __future__ import annotations

from typing import TypeVar

from nats.aio.client import Client
from pydantic import BaseModel, ValidationError

from muster.bus import asking
from muster.contracts import subjects
from muster.contracts.notices import NoticeQuestion
from muster.domain.errors import Permanent

TIMEOUT_S = 15.0
A = TypeVar("A", bound=BaseModel)


async def ask_notifier(
    connection: Client,
    tenant: str,
    question: NoticeQuestion,
    model: type[A],
    timeout: float = TIMEOUT_S,
) -> A:
    """Return the answer. Raises NobodyAnswers, Temporary (not now), Permanent (refused)."""
    subject = subjects.notice_subject(tenant, question.kind)
    reply = await asking.ask(connection, subject, question.model_dump_json().encode(), timeout)
    try:
        return model.model_validate_json(reply)
    except ValidationError as error:
        raise Permanent(f"the answer on {subject} is of another version") from error
