"""Whom to tell about an event: `notices_for(event, state, rules)`. Pure.

The event and the state that it carries are enough: a notice never looks at what the job is now, so
redelivery, a replay of the log or another order give the same notices with the same keys. Called by
the handler for every event of a job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode
from muster.domain.state import DeadlineKind, JobState
from muster.notifier.core.notice import Facts, Language, Notice, Trigger


class ScopeKind(StrEnum):
    """Which jobs of the tenant a rule is about."""

    ME = "me"
    TENANT = "tenant"
    JOB = "job"
    LABELS = "labels"


@dataclass(frozen=True, slots=True)
class Scope:
    """One kind with its value: a user, nothing, a job's id, or labels that must all match."""

    kind: ScopeKind
    user: str = ""
    job: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    def covers(self, state: JobState) -> bool:
        """Tell whether a job of the rule's tenant is meant."""
        match self.kind:
            case ScopeKind.ME:
                return state.user == self.user
            case ScopeKind.TENANT:
                return True
            case ScopeKind.JOB:
                return state.job == self.job
            case ScopeKind.LABELS:
                return all(state.labels.get(key) == value for key, value in self.labels)


@dataclass(frozen=True, slots=True)
class Rule:
    """Tell `address` over `channel` when `trigger` happens to a job in `scope`.

    address is a name that the rule file resolves, never a URL. since: when the rule began; what
    happened before is not told. None means it always applied.
    """

    id: str
    tenant: str
    scope: Scope
    trigger: Trigger
    language: Language
    channel: str
    address: str
    enabled: bool = True
    since: datetime | None = None

    def wants(self, trigger: Trigger, state: JobState) -> bool:
        """Tell whether the rule is to be told of `trigger` on this job."""
        if not self.enabled or self.trigger is not trigger or self.tenant != state.tenant:
            return False
        if self.since is not None and state.since < self.since:
            return False
        return self.scope.covers(state)


TELLING = frozenset(
    {
        "admitted",
        "requeued",
        "resumed",
        "started",
        "start_refused",
        "queue_timed_out",
        "requeue_exhausted",
        "escalated",
        "declined",
        "not_requeued",
        "failed",
        "succeeded",
        "stopped",
    }
)
"""The events that can tell somebody something; the service wakes on no other."""

_ENTRIES = frozenset({"admitted", "requeued", "resumed"})


def notices_for(event: str, state: JobState, rules: Iterable[Rule]) -> tuple[Notice, ...]:
    """Return one notice for each rule that is to be told of `event`, which led to `state`."""
    told = _transition(event, state)
    if told is None:
        return ()
    trigger, transition = told
    facts = _facts(state)
    return tuple(
        _notice(rule, transition, state, facts) for rule in rules if rule.wants(trigger, state)
    )


def _transition(event: str, state: JobState) -> tuple[Trigger, str] | None:
    """Return what happened and its stable name; None when there is nothing to tell.

    Every event that can tell leads to a new phase or queue entry, so `state.since` is its time.
    """
    if event not in TELLING:
        return None
    match state.phase:
        case Phase.QUEUED:
            entry = f"queued:{state.queue_entry}"
            return (Trigger.JOB_QUEUED, entry) if _enters(event, state) else None
        case Phase.RUNNING:
            return Trigger.JOB_RUNNING, f"running:{state.attempt}"
        case Phase.ABNORMAL:
            return Trigger.JOB_ABNORMAL, f"abnormal:{state.version}"
        case Phase.DEBUG_HOLDING | Phase.FAILED | Phase.SUCCEEDED:
            return _outcome(event, state)
        case _:
            return None


def _enters(event: str, state: JobState) -> bool:
    """Tell whether the queue entry began with this event. One-shot jobs do not queue for people."""
    return event in _ENTRIES and not state.one_shot and state.entered_at == state.since


def _outcome(event: str, state: JobState) -> tuple[Trigger, str] | None:
    """Tell an outcome when it becomes known; what only ends a hold told it before.

    `stopped` is news when it ends a run that took too long. In every other case it leads to the
    outcome of a hold that a person cut short, or to `stopped`, which no trigger names.
    """
    code = state.reason.code if state.reason else None
    if event == "stopped" and code is not ReasonCode.MAX_RUNTIME:
        return None
    phase = state.outcome.phase if state.outcome else state.phase
    if phase is Phase.SUCCEEDED:
        return Trigger.JOB_SUCCEEDED, f"succeeded:{state.version}"
    return Trigger.JOB_FAILED, f"failed:{state.version}"


def _notice(rule: Rule, transition: str, state: JobState, facts: Facts) -> Notice:
    return Notice(
        rule=rule.id,
        trigger=rule.trigger,
        language=rule.language,
        channel=rule.channel,
        address=rule.address,
        tenant=state.tenant,
        subject=state.job,
        transition=transition,
        version=state.version,
        at=state.since,
        facts=facts,
    )


def _facts(state: JobState) -> Facts:
    waiting = state.phase is Phase.QUEUED
    holding = state.phase is Phase.DEBUG_HOLDING
    return Facts(
        name=state.name,
        owner=state.user,
        entry=state.queue_entry,
        attempt=state.attempt,
        gpus=state.demand.gpus,
        workers=len(state.demand.workers),
        nodes=tuple(state.held),
        requeues_left=state.requeues_left if state.demand.queue else None,
        deadline=state.due(DeadlineKind.QUEUE) if waiting else None,
        hold_until=state.due(DeadlineKind.HOLD) if holding else None,
        reason=(state.reason.en, state.reason.zh) if state.reason else None,
        reason_code=state.reason.code.value if state.reason else "",
        again=state.queue_entry > 1 or state.ledgers.restarts > 0,
    )
