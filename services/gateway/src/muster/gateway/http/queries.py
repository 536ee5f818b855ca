"""The parameters of each question, and what is said about a wrong one.

Types and limits stand in the models, so that OpenAPI has them too; `RULES` has the same in words.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from muster.contracts.queries import Priority
from muster.domain.metering import DIMENSIONS, LABEL, is_dimension
from muster.domain.model import TOKEN_PATTERN, Instant
from muster.domain.nodes import NodeCondition
from muster.domain.phases import Phase
from muster.domain.violations import Violation
from muster.domain.whatif import FORMS, LONGEST, MOST
from muster.gateway.core.filters import JobFilter, Place
from muster.gateway.core.usage import UsageAsked
from muster.gateway.http.problems import Problem, violation
from muster.gateway.reading import Asks

Text = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\x00-\x1f\x7f]+$")]
Token = Annotated[str, Field(pattern=TOKEN_PATTERN)]
Language = Literal["en", "zh"]

_TOKEN = ("1-128 of A-Z a-z 0-9 _ -", " 1-128 个字母、数字、_ 或 -")
_TEXT = ("1-512 characters without control characters", " 1-512 个字符，不含控制字符")
_SUMS = (*DIMENSIONS, f"{LABEL}KEY")
_MOST_SUMS = 8
_INSTANT = (
    "an instant with its zone, such as 2030-01-31T08:00:00Z, since before until",
    "带时区的时刻，例如 2030-01-31T08:00:00Z，且 since 早于 until",
)
RULES: dict[str, tuple[str, str]] = {
    "tenant": _TOKEN,
    "job": _TOKEN,
    "pool": _TOKEN,
    "user": _TEXT,
    "label": (f"key=value or a key, {_TEXT[0]}", f" key=value 或 key，{_TEXT[1].strip()}"),
    "phase": (f"one of {', '.join(Phase)}", f"以下之一：{'、'.join(Phase)}"),
    "condition": (f"one of {', '.join(NodeCondition)}", f"以下之一：{'、'.join(NodeCondition)}"),
    "by": (
        f"at most {_MOST_SUMS} different ones of {', '.join(_SUMS)}",
        f"以下各项（不重复，最多 {_MOST_SUMS} 个）：{'、'.join(_SUMS)}",
    ),
    "since": _INSTANT,
    "until": _INSTANT,
    "top": ("an integer between 1 and 10000", " 1-10000 之间的整数"),
    "limit": ("an integer between 1 and 500", " 1-500 之间的整数"),
    "cursor": ("the `next` of an earlier answer, unchanged", "之前响应中的 next 原值"),
    "lang": ("en or zh", " en 或 zh"),
    "priority": ("low, normal, high or 1-99", " low、normal、high 或 1-99"),
    "what_if": (
        f"up to {MOST}, each one of: {', '.join(FORMS)}",
        f"最多 {MOST} 个，可用：{'、'.join(FORMS)}",
    ),
    "snapshot": ("true or false", " true 或 false"),
    "after": (
        "an integer >= 0, the id of an event that was received",
        "已收到的事件 ID（不小于 0 的整数）",
    ),
    "Last-Event-ID": (
        "an integer >= 0, the id of an event that was received",
        "已收到的事件 ID（不小于 0 的整数）",
    ),
}
_MANY = frozenset({"by", "phase", "label", "what_if"})


def _priority(text: str) -> str:
    if re.fullmatch(r"low|normal|high|[1-9][0-9]?", text, re.ASCII):
        return text
    raise ValueError("no priority")


def _cursor(text: str) -> str:
    read_cursor(text)
    return text


def _sum_by(values: list[str]) -> list[str]:
    if len(set(values)) != len(values) or not all(is_dimension(value) for value in values):
        raise ValueError("no dimension")
    return values


class Query(BaseModel):
    """Base: unknown parameters are refused, so that a misspelt filter never shows everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: Language | None = Field(default=None, description="Language of texts.")


class JobQuery(Query):
    """Which jobs. Several phases: any of them; several labels: all of them."""

    tenant: Token | None = None
    user: Text | None = None
    pool: Token | None = None
    phase: list[Phase] = []
    label: list[Text] = Field(default=[], description="key=value, or a key alone.")
    limit: int = Field(default=50, ge=1, le=500)
    cursor: Annotated[str, AfterValidator(_cursor)] | None = None

    @property
    def wanted(self) -> JobFilter:
        """The filter that these parameters mean."""
        return JobFilter(
            tenant=self.tenant,
            user=self.user,
            pool=self.pool,
            phases=frozenset(self.phase),
            labels=tuple(self.label),
        )

    @property
    def before(self) -> Place | None:
        """Where the listing goes on."""
        return read_cursor(self.cursor) if self.cursor else None


class CapacityQuery(Query):
    """For whom: nodes on the block lists of this tenant, and of this user of it, are not free."""

    tenant: Token | None = None
    user: Text | None = None

    @property
    def asks(self) -> Asks:
        """Who asks. Raises Problem for a user of no tenant."""
        if self.user is not None and self.tenant is None:
            rule = {"rule": "given together with tenant", "rule_zh": "须与 tenant 一起给出"}
            found = violation("E_PARAMETER_VALUE", "$.query.user", field="user", **rule)
            raise Problem(400, found)
        return Asks(self.tenant, self.user)


class StockQuery(CapacityQuery):
    """Which spot capacity, and for whom."""

    pool: Token | None = None


class ExplainQuery(Query):
    """As if. what_if: all of them hold at once."""

    what_if: list[Annotated[str, Field(min_length=1, max_length=LONGEST)]] = Field(
        default=[], max_length=MOST, description=f"Any of: {', '.join(FORMS)}."
    )
    priority: Annotated[str, AfterValidator(_priority)] | None = Field(
        default=None, description="low, normal, high, or 1-99."
    )

    @property
    def supposed_priority(self) -> Priority | None:
        """The priority as the scheduler is asked."""
        match self.priority:
            case None | "low" | "normal" | "high":
                return self.priority
            case number:
                return int(number)


class UsageQuery(Query):
    """Whose use, from when to when, and by what it is summed up. Without `by`: one sum."""

    by: Annotated[list[Text], AfterValidator(_sum_by)] = Field(
        default=[], max_length=_MOST_SUMS, description=f"Any of: {', '.join(_SUMS)}."
    )
    since: Instant | None = Field(default=None, description="Default: from the beginning.")
    until: Instant | None = Field(default=None, description="Default, and at most: now.")
    tenant: Token | None = None
    user: Text | None = None
    pool: Token | None = None
    label: list[Text] = Field(default=[], description="key=value, or a key alone.")
    top: int = Field(default=1000, ge=1, le=10_000, description="Rows: those of greatest use.")

    def asked(self, now: datetime) -> UsageAsked:
        """Return what is asked. Raises Problem when it ends before it begins."""
        if self.since and self.until and self.since >= self.until:
            rule, rule_zh = RULES["since"]
            told = {"field": "since", "rule": rule, "rule_zh": rule_zh}
            raise Problem(400, violation("E_PARAMETER_VALUE", "$.query.since", **told))
        return UsageAsked(
            wanted=JobFilter(self.tenant, self.user, self.pool, labels=tuple(self.label)),
            since=self.since,
            until=min(self.until or now, now),
            by=tuple(self.by),
            limit=self.top,
        )


class NodeQuery(CapacityQuery):
    """Which nodes. Without a condition, those that are still part of their cluster."""

    pool: Token | None = None
    condition: NodeCondition | None = None


class LemonQuery(Query):
    """Which nodes are rated."""

    pool: Token | None = None


class StreamQuery(Query):
    """Which jobs' changes. after: as the header Last-Event-ID, for those who cannot set it."""

    tenant: Token | None = None
    job: Token | None = None
    snapshot: bool = Field(default=True, description="Begin with the present state of each job.")
    after: int | None = Field(default=None, ge=0)


def make_cursor(place: Place) -> str:
    """Return a place as an opaque text."""
    value = [place.submitted_at.isoformat(), place.tenant, place.job]
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def read_cursor(text: str) -> Place:
    """Return the place of a cursor. Raises ValueError."""
    padded = text + "=" * (-len(text) % 4)
    try:
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("no cursor") from error
    match value:
        case [str(at), str(tenant), str(job)] if "\x00" not in tenant + job:
            instant = datetime.fromisoformat(at)
            if instant.tzinfo is None:
                raise ValueError("no cursor")
            return Place(instant, tenant, job)
    raise ValueError("no cursor")


def once(request: Request) -> None:
    """Refuse a parameter that is given twice and has one meaning only."""
    names = [name for name, _ in request.query_params.multi_items()]
    twice = sorted({name for name in names if names.count(name) > 1} - _MANY)
    if twice:
        raise Problem(
            400,
            *(
                violation("E_PARAMETER_TWICE", f"$.query.{_shown(n)}", field=_shown(n))
                for n in twice
            ),
        )


def violations_of(errors: Sequence[Any], allowed: Sequence[str]) -> Iterator[Violation]:
    """Turn what the framework found into violations, one a parameter."""
    seen: set[str] = set()
    for error in errors:
        where, name = str(error["loc"][0]), str(error["loc"][1])
        path = f"$.{where}.{_shown(name)}"
        if path not in seen:
            seen.add(path)
            yield _one(error["type"], path, name, allowed)


def _one(kind: str, path: str, name: str, allowed: Sequence[str]) -> Violation:
    if kind == "extra_forbidden" or name not in RULES:
        hint, hint_zh = _hint(name, allowed)
        return violation(
            "E_PARAMETER_UNKNOWN", path, field=_shown(name), hint=hint, hint_zh=hint_zh
        )
    rule, rule_zh = RULES[name]
    return violation("E_PARAMETER_VALUE", path, field=name, rule=rule, rule_zh=rule_zh)


def _hint(name: str, allowed: Sequence[str]) -> tuple[str, str]:
    listed = ", ".join(allowed)
    near = difflib.get_close_matches(name, allowed, n=1)
    if near:
        return f"did you mean {near[0]}? allowed: {listed}", f"是否想用 {near[0]}？可用：{listed}"
    return f"remove it; allowed: {listed}", f"请去掉；可用：{listed}"


def _shown(name: str) -> str:
    """A parameter's name that is no plain word may be anything and is not repeated."""
    return name if len(name) <= 40 and name.replace("-", "_").isidentifier() else "?"
