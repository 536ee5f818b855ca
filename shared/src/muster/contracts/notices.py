"""What people ask the notifier, and the answers: core NATS, request and reply.

A question is JSON on `notices.<tenant>.<kind>`. It is never stored on the way: it may hold a
webhook and a signing secret. No answer ever holds either. What changes something carries the id of
the request: told twice, it is carried out once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field, PlainSerializer, SecretStr

from muster.domain.model import Frozen, Instant, Strict, Token
from muster.domain.violations import Violation

Name = Annotated[str, Field(min_length=1, max_length=128)]
Hidden = Annotated[
    SecretStr, PlainSerializer(lambda secret: secret.get_secret_value(), when_used="json")
]
"""Shown to nobody but the one who is asked: only its JSON has the value."""

MOST = 500
"""Rows of one answer."""


class NoticeQuestion(Strict):
    """Base of all questions."""

    kind: ClassVar[str]


class NoticeRequest(NoticeQuestion):
    """Base of those that change something. user: on whose behalf. request: its id."""

    user: Name
    request: Token


class AskRules(NoticeQuestion):
    """Which rules are there, and do they get through? rule: this one; None = all."""

    kind: ClassVar[str] = "rules"
    rule: Name | None = None


class AddRule(NoticeRequest):
    """Make a rule; every violation is answered at once.

    scope, trigger, language, channel: as in the rules file. webhook, secret, keywords: of the bot;
    address instead: one that the operator has given this tenant.
    """

    kind: ClassVar[str] = "add_rule"
    id: str | None = None
    scope: Any = "tenant"
    trigger: Any = None
    language: Any = None
    channel: Any = "feishu"
    address: Name | None = None
    webhook: Hidden | None = None
    secret: Hidden | None = None
    keywords: Any = ()


class OfRule(NoticeRequest):
    """Base of requests about one rule."""

    rule: Name


class PauseRule(OfRule):
    """Tell nobody by this rule until it is resumed."""

    kind: ClassVar[str] = "pause_rule"


class ResumeRule(OfRule):
    """Tell again what happens from now on."""

    kind: ClassVar[str] = "resume_rule"


class RemoveRule(OfRule):
    """Out of force, and what waits by it is withdrawn."""

    kind: ClassVar[str] = "remove_rule"


class TestRule(NoticeQuestion):
    """Send one real message to the rule's address now."""

    __test__ = False
    kind: ClassVar[str] = "test_rule"
    rule: Name


class AskDeliveries(NoticeQuestion):
    """What became of notices? The newest first. subject: a job's id, `pool/node`, an incident."""

    kind: ClassVar[str] = "deliveries"
    rule: Name | None = None
    subject: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    state: Name | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50


class Replay(NoticeRequest):
    """Send dead letters that are still news once more: of a rule, or one by its id."""

    kind: ClassVar[str] = "replay"
    rule: Name | None = None
    notice: Name | None = None


class AddSilence(NoticeRequest):
    """Tell nobody of what matches, for a while; it is counted. start: None = now.

    At least one of subject, rule, owner, triggers and labels; all that are given must match.
    """

    kind: ClassVar[str] = "silence"
    start: Instant | None = Field(default=None, strict=False)
    end: Instant = Field(strict=False)
    comment: str = ""
    subject: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    rule: Name | None = None
    owner: Name | None = None
    triggers: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    labels: Annotated[Mapping[str, str], Field(max_length=20)] = {}


class AskSilences(NoticeQuestion):
    """Which silences hold or will hold? ended: those that ended within a week, too."""

    kind: ClassVar[str] = "silences"
    ended: bool = False


class EndSilence(NoticeRequest):
    """It is over now."""

    kind: ClassVar[str] = "end_silence"
    silence: Name


class AskLanes(NoticeQuestion):
    """How do the addresses of this tenant's rules fare?"""

    kind: ClassVar[str] = "lanes"


class Rotate(NoticeRequest):
    """Seal this tenant's addresses anew, with the newest key."""

    kind: ClassVar[str] = "rotate"


def _questions(base: type[NoticeQuestion]) -> dict[str, type[NoticeQuestion]]:
    found: dict[str, type[NoticeQuestion]] = {}
    for model in base.__subclasses__():
        found |= {model.kind: model} if hasattr(model, "kind") else _questions(model)
    return found


NOTICE_QUESTIONS = _questions(NoticeQuestion)
"""kind -> model."""


class Health(Frozen):
    """state: ok, new (nothing sent yet), paused, or failing. code: the receiver's. since: of a
    circuit that is open. remedy: what a person can do."""

    state: str
    code: str = ""
    text: str = ""
    since: Instant | None = None
    remedy: str = ""
    remedy_zh: str = ""


class RuleView(Frozen):
    """A rule. shown: its address, without what is secret. file: it is the operator's."""

    id: str
    tenant: Token
    scope: Any
    trigger: str
    language: str
    channel: str
    address: str = ""
    shown: str = ""
    signed: bool = False
    keywords: tuple[str, ...] = ()
    enabled: bool = True
    file: bool = False
    owner: str = ""
    since: Instant | None = None
    health: Health = Health(state="new")
    pending: int = 0
    dead: int = 0
    delivered_at: Instant | None = None


class RuleViews(Frozen):
    """The answer to AskRules."""

    rules: tuple[RuleView, ...] = ()


class Done(Frozen):
    """The answer to a request. violations: why it was not carried out; then nothing has changed.

    count: how many rows it was about.
    """

    violations: tuple[Violation, ...] = ()
    rule: RuleView | None = None
    silence: str | None = None
    count: int = 0


class Tested(Frozen):
    """The answer to TestRule. sent: a request went out. code, text: what the receiver said."""

    rule: str
    sent: bool
    delivered: bool
    code: str = ""
    text: str = ""
    remedy: str = ""
    remedy_zh: str = ""
    violations: tuple[Violation, ...] = ()


class DeliveryView(Frozen):
    """One notice. parcel: the id on the message that it went out with; None before that."""

    notice: str
    parcel: str | None = None
    rule: str
    subject: str
    transition: str
    trigger: str
    kind: str
    state: str
    attempts: int
    code: str = ""
    text: str = ""
    happened_at: Instant
    stored_at: Instant
    next_attempt_at: Instant | None = None
    settled_at: Instant | None = None


class DeliveryViews(Frozen):
    """The answer to AskDeliveries. counts: state -> how many there are in all."""

    deliveries: tuple[DeliveryView, ...] = ()
    counts: Mapping[str, int] = {}


class SilenceView(Frozen):
    """One silence."""

    id: str
    start: Instant
    end: Instant
    author: str
    comment: str
    subject: str | None = None
    rule: str | None = None
    owner: str | None = None
    triggers: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}


class SilenceViews(Frozen):
    """The answer to AskSilences."""

    silences: tuple[SilenceView, ...] = ()


class LaneView(Frozen):
    """An address. probe_at: when an address that refuses is tried again. oldest_s: of what waits.

    rules: of this tenant, that send there.
    """

    channel: str
    lane: str
    shown: str = ""
    rules: tuple[str, ...] = ()
    health: Health
    failures: int = 0
    paused_until: Instant | None = None
    probe_at: Instant | None = None
    backlog: int = 0
    oldest_s: float | None = None
    delivered_at: Instant | None = None
    tried_at: Instant | None = None


class LaneViews(Frozen):
    """The answer to AskLanes."""

    lanes: tuple[LaneView, ...] = ()


NoticeAnswer: TypeAlias = RuleViews | Done | Tested | DeliveryViews | SilenceViews | LaneViews
