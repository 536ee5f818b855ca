"""Whom to tell about an event: `notices_for` and its siblings for nodes and incidents. Pure.

The event and the state that it carries are enough: a notice never looks at what the job is now, so
redelivery, a replay of the log or another order give the same notices with the same keys. Called by
the handler for every event that can tell somebody something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.domain.facts import Fact, Hung
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode
from muster.domain.state import JobState
from muster.notifier.core.facts import facts_of_job, incident_facts, node_facts
from muster.notifier.core.notice import AnyFacts, Language, Notice, Trigger


class ScopeKind(StrEnum):
    """What a rule is about: some of its tenant's jobs, or the nodes of a pool or of all pools."""

    ME = "me"
    TENANT = "tenant"
    JOB = "job"
    LABELS = "labels"
    RESOURCE_CLASS = "resource_class"
    POOL = "pool"
    CLUSTER = "cluster"


SCOPES_OF_THE_FLEET = frozenset({ScopeKind.POOL, ScopeKind.CLUSTER})


Handle = tuple[ScopeKind, str]
"""What rules are filed under, so that an event meets only those that may want it."""


def handles_of(state: JobState) -> Iterator[Handle]:
    """Yield every handle that a rule about this job may be filed under."""
    yield ScopeKind.TENANT, ""
    yield ScopeKind.ME, state.user
    yield ScopeKind.JOB, state.job
    yield ScopeKind.RESOURCE_CLASS, state.demand.resource_class.value
    for key, value in state.labels.items():
        yield ScopeKind.LABELS, f"{key}={value}"


@dataclass(frozen=True, slots=True)
class Scope:
    """One kind with its value: a user, a job's id, labels that must all match, a class, a pool."""

    kind: ScopeKind
    user: str = ""
    job: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    resource_class: str = ""
    pool: str = ""

    @property
    def handle(self) -> Handle:
        """What the scope is filed under: a job that it covers names this among its handles."""
        match self.kind:
            case ScopeKind.ME:
                return self.kind, self.user
            case ScopeKind.JOB:
                return self.kind, self.job
            case ScopeKind.LABELS:
                return self.kind, "=".join(self.labels[0]) if self.labels else ""
            case ScopeKind.RESOURCE_CLASS:
                return self.kind, self.resource_class
            case ScopeKind.TENANT | ScopeKind.POOL | ScopeKind.CLUSTER:
                return self.kind, ""

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
            case ScopeKind.RESOURCE_CLASS:
                return state.demand.resource_class.value == self.resource_class
            case ScopeKind.POOL | ScopeKind.CLUSTER:
                return False

    def covers_pool(self, pool: str | None) -> bool:
        """Tell whether machines of a pool are meant. None: of no pool alone, so of any."""
        if self.kind is ScopeKind.POOL:
            return pool is None or self.pool == pool
        return self.kind is ScopeKind.CLUSTER


@dataclass(frozen=True, slots=True)
class Rule:
    """Tell `address` over `channel` when `trigger` happens to what is in `scope`.

    address is a name, never a URL. since: when the rule began; what happened before is not told.
    None means it always applied. owner: who made it; "" = the operator's file. label: of the
    webhook behind the address, "" for a channel without one.
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
    owner: str = ""
    label: str = ""

    def wants(self, trigger: Trigger, state: JobState, at: datetime) -> bool:
        """Tell whether the rule is to be told that this happened to this job."""
        return self._began(trigger, at) and self.tenant == state.tenant and self.scope.covers(state)

    def wants_pool(self, trigger: Trigger, pool: str | None, at: datetime) -> bool:
        """Tell whether the rule is to be told that this happened to machines of a pool."""
        return self._began(trigger, at) and self.scope.covers_pool(pool)

    def _began(self, trigger: Trigger, at: datetime) -> bool:
        known = self.since is None or at >= self.since
        return self.enabled and self.trigger is trigger and known


_ENTRIES = frozenset({"admitted", "requeued", "resumed"})
_SIMPLE = {
    "preempted": Trigger.JOB_PREEMPTED,
    "restarted": Trigger.JOB_RESTARTED,
    "replacement_ordered": Trigger.JOB_RESTARTED,
    "hang_suspected": Trigger.HANG_SUSPECTED,
    "hung": Trigger.HANG_SUSPECTED,
    "progress_lost": Trigger.PROGRESS_LOST,
}
"""Events that are news by themselves, whatever state they lead to."""
_STATES = frozenset(
    {
        *_ENTRIES,
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
"""Events that can lead to another displayed state, or to a known outcome."""
TELLING = _STATES | frozenset(_SIMPLE)
"""The events of jobs that can tell somebody something; the service wakes for no other."""
TELLING_OF_NODES = frozenset({"excluded"})
TELLING_OF_INCIDENTS = frozenset({"opened", "closed"})

Telling = tuple[Trigger, str]
"""What happened, and its stable name."""


def tellings(event: str, state: JobState) -> tuple[Telling, ...]:
    """Return what `event`, which led to `state`, tells; () when there is nothing to tell."""
    if event in _SIMPLE:
        trigger = _SIMPLE[event]
        return ((trigger, f"{trigger.value}:{state.version}"),)
    return tuple(_changes(event, state)) if event in _STATES else ()


def notices_for(
    event: str, state: JobState, fact: Fact, at: datetime, rules: Iterable[Rule]
) -> tuple[Notice, ...]:
    """Return one notice for each rule that is to be told of `event`, which led to `state`.

    at: when it happened.
    """
    told = tellings(event, state)
    if not told or _only_waited_for(fact):
        return ()
    facts = facts_of_job(state, fact, at)
    return tuple(
        _notice(rule, transition, state.tenant, state.job, state.version, at, facts)
        for trigger, transition in told
        for rule in rules
        if rule.wants(trigger, state, at)
    )


def _only_waited_for(fact: Fact) -> bool:
    """Tell whether workers merely outstayed one that has ended, which is no hang."""
    return isinstance(fact, Hung) and fact.exited


def node_notices(
    event: str, state: NodeState, at: datetime, rules: Iterable[Rule]
) -> tuple[Notice, ...]:
    """Return one notice for each rule that is to be told that a node is kept out."""
    if event not in TELLING_OF_NODES:
        return ()
    subject, facts = f"{state.pool}/{state.node}", node_facts(state)
    return tuple(
        _notice(rule, f"excluded:{state.version}", rule.tenant, subject, state.version, at, facts)
        for rule in rules
        if rule.wants_pool(Trigger.NODE_EXCLUDED, state.pool, at)
    )


def incident_notices(
    event: str, incident: Incident, at: datetime, rules: Iterable[Rule]
) -> tuple[Notice, ...]:
    """Return one notice for each rule that is to be told that an incident began or is over."""
    if event not in TELLING_OF_INCIDENTS:
        return ()
    facts = incident_facts(incident)
    version = 2 * incident.number + (event == "closed")
    return tuple(
        _notice(rule, f"{event}:{incident.number}", rule.tenant, incident.id, version, at, facts)
        for rule in rules
        if rule.wants_pool(Trigger.INCIDENT, incident.pool, at)
    )


def _changes(event: str, state: JobState) -> Iterator[Telling]:
    """Every such event leads to a new phase or queue entry, or makes an outcome known."""
    match state.phase:
        case Phase.QUEUED if _enters(event, state):
            yield Trigger.JOB_QUEUED, f"queued:{state.queue_entry}"
        case Phase.RUNNING:
            yield Trigger.JOB_RUNNING, f"running:{state.attempt}"
        case Phase.ABNORMAL:
            yield Trigger.JOB_ABNORMAL, f"abnormal:{state.version}"
        case Phase.DEBUG_HOLDING:
            yield from _outcome(event, state)
            yield Trigger.DEBUG_HOLD, f"held:{state.version}"
        case Phase.FAILED | Phase.SUCCEEDED:
            yield from _outcome(event, state)


def _enters(event: str, state: JobState) -> bool:
    """Tell whether the queue entry began with this event. One-shot jobs do not queue for people."""
    return event in _ENTRIES and not state.one_shot and state.entered_at == state.since


def _outcome(event: str, state: JobState) -> Iterator[Telling]:
    """Tell an outcome when it becomes known; what only ends a hold told it before.

    `stopped` is news when it ends a run that took too long. In every other case it leads to the
    outcome of a hold that a person cut short, or to `stopped`, which no trigger names.
    """
    code = state.reason.code if state.reason else None
    if event == "stopped" and code is not ReasonCode.MAX_RUNTIME:
        return
    phase = state.outcome.phase if state.outcome else state.phase
    if phase is Phase.SUCCEEDED:
        yield Trigger.JOB_SUCCEEDED, f"succeeded:{state.version}"
    else:
        yield Trigger.JOB_FAILED, f"failed:{state.version}"


def _notice(
    rule: Rule,
    transition: str,
    tenant: str,
    subject: str,
    version: int,
    at: datetime,
    facts: AnyFacts,
) -> Notice:
    return Notice(
        rule=rule.id,
        trigger=rule.trigger,
        language=rule.language,
        channel=rule.channel,
        address=rule.address,
        label=rule.label,
        tenant=tenant,
        subject=subject,
        transition=transition,
        version=version,
        at=at,
        facts=facts,
    )
