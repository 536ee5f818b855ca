"""Questions to fault tolerance, for clients: core NATS, request and reply."""

from __future__ import annotations

from nats.aio.client import Client
from pydantic import ValidationError

from muster.bus import asking
from muster.contracts import subjects
from muster.contracts.fault_questions import AskHang, HangAnswer
from muster.domain.errors import Permanent

TIMEOUT_S = 10.0


async def ask_hang(
    connection: Client, pool: str, tenant: str, job: str, timeout: float = TIMEOUT_S
) -> HangAnswer:
    """Return what is thought of a job's silence. Raises NobodyAnswers, Temporary, Permanent."""
    question = AskHang(tenant=tenant, job=job)
    subject = subjects.fault_subject(pool, question.kind)
    reply = await asking.ask(connection, subject, question.model_dump_json().encode(), timeout)
    try:
        return HangAnswer.model_validate_json(reply)
    except ValidationError as error:
        raise Permanent(f"the answer on {subject} is of another version") from error
