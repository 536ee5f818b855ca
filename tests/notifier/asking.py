"""Asks a notifier as its clients do: a question's JSON on its subject, an answer's JSON back."""

from __future__ import annotations

import base64
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel

from muster.bus import Question
from muster.contracts.notices import AddRule, AskRules, Done, NoticeQuestion, RuleView, RuleViews
from muster.contracts.subjects import notice_subject
from muster.domain.errors import Permanent
from muster.notifier.sandbox import HOOK
from muster.runtime.service import Service
from tests.notifier.stage import ORIGIN
from tests.support.leaks import KEY, TOKEN

A = TypeVar("A", bound=BaseModel)
WEBHOOK = f"{ORIGIN}{HOOK}{TOKEN}"
_NUMBERS = count(1)


class Locked:
    """Keeps texts from being read by chance. `lost`: the key is gone."""

    lost = False

    def seal(self, text: str) -> str:
        return base64.b85encode(text.encode()).decode()

    def open(self, sealed: str) -> str:
        if self.lost:
            raise Permanent("no key opens this")
        return base64.b85decode(sealed).decode()


async def ask(
    service: Service, question: NoticeQuestion, model: type[A], tenant: str = "acme"
) -> A:
    """Return the answer. Raises what the desk raises."""
    body = question.model_dump_json().encode()
    (responder,) = service.responders
    subject = notice_subject(tenant, question.kind)
    return model.model_validate_json(await responder.answer(Question(subject, body)))


def request(**values: Any) -> dict[str, Any]:
    """The fields of every request, with a fresh id."""
    return {"user": "alice", "request": f"q{next(_NUMBERS)}", **values}


def wanted(**values: Any) -> AddRule:
    """A rule that can be made."""
    base = {"trigger": "job_queued", "webhook": WEBHOOK, "secret": KEY, "keywords": ["训练"]}
    return AddRule.model_validate(request(**{**base, **values}), strict=False)


async def add(service: Service, **values: Any) -> Done:
    return await ask(service, wanted(**values), Done)


async def rules_of(service: Service, tenant: str = "acme") -> tuple[RuleView, ...]:
    return (await ask(service, AskRules(), RuleViews, tenant)).rules
