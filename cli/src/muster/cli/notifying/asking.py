"""Asking the notifier on behalf of one person, and what a refusal looks like."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

from muster.cli.building import built
from muster.cli.errors import Refusal
from muster.cli.reach import Reach
from muster.cli.session import Session
from muster.contracts.notices import Done, NoticeQuestion, NoticeRequest
from muster.runtime.ids import new_id

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R", bound=NoticeRequest)


def asked(session: Session, model: type[R], **fields: Any) -> R:
    """Return a request with an id of its own. Raises BadParameter with every wrong field."""
    return built(model, user=session.user, request=new_id(), **fields)


async def answer(muster: Reach, session: Session, question: NoticeQuestion, model: type[A]) -> A:
    """Return the answer for the session's tenant. Raises CliError."""
    return await muster.notices(session.tenant_or_default, question, model)


async def done(muster: Reach, session: Session, body: NoticeRequest, what: str) -> Done:
    """Have a request carried out. Raises Refusal with every violation."""
    told = await answer(muster, session, body, Done)
    if told.violations:
        raise Refusal("request", told.violations, what=what)
    return told
