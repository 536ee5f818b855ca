"""Questions to fault tolerance, for clients: core NATS, request and reply."""

from __future__ import annotations

from typing import TypeVar

from nats.aio.client import Client
from pydantic import BaseModel, ValidationError

from muster.bus import asking
from muster.contracts import subjects
from muster.contracts.fault_questions import AskHang, HangAnswer
from muster.contracts.judgements import (
    AskFingerprints,
    AskNodes,
    FingerprintClusters,
    JudgementQuestion,
    NodeRatings,
)
from muster.domain.errors import Permanent

TIMEOUT_S = 10.0
Answer = TypeVar("Answer", HangAnswer, NodeRatings, FingerprintClusters)


async def ask_hang(
    connection: Client, pool: str, tenant: str, job: str, timeout: float = TIMEOUT_S
) -> HangAnswer:
    """Return what is thought of a job's silence. Raises NobodyAnswers, Temporary, Permanent."""
    question = AskHang(tenant=tenant, job=job)
    subject = subjects.fault_subject(pool, question.kind)
    return await _ask(connection, subject, question, HangAnswer, timeout)


async def ask_nodes(
    connection: Client, pool: str | None = None, timeout: float = TIMEOUT_S
) -> NodeRatings:
    """Return which nodes failures point at. Raises as `ask_hang`."""
    return await _judgement(connection, AskNodes(pool=pool), NodeRatings, timeout)


async def ask_fingerprints(
    connection: Client, limit: int, timeout: float = TIMEOUT_S
) -> FingerprintClusters:
    """Return the failures that no rule knows. Raises as `ask_hang`."""
    return await _judgement(connection, AskFingerprints(limit=limit), FingerprintClusters, timeout)


async def _judgement(
    connection: Client, question: JudgementQuestion, model: type[Answer], timeout: float
) -> Answer:
    subject = subjects.judgement_subject(question.kind)
    return await _ask(connection, subject, question, model, timeout)


async def _ask(
    connection: Client, subject: str, question: BaseModel, model: type[Answer], timeout: float
) -> Answer:
    reply = await asking.ask(connection, subject, question.model_dump_json().encode(), timeout)
    try:
        return model.model_validate_json(reply)
    except ValidationError as error:
        raise Permanent(f"the answer on {subject} is of another version") from error
