"""Why a job is not running yet: the verdict of the round in words, node by node, and what helps.

Made from a plan, so it never says anything else than what the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster.domain.demand import Role
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.reasons import Reason
from muster.domain.state import JobState
from muster.scheduler.core import texts
from muster.scheduler.core.doors import Shut, is_there, serves, shut
from muster.scheduler.core.fitting import Fitting
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, is_hold
from muster.scheduler.core.texts import Text
from muster.scheduler.core.upkeep import awaited_by
from muster.scheduler.core.verdicts import Plan, Verdict, Waiting


@dataclass(frozen=True, slots=True)
class Blocker:
    """What stands in the way on one node."""

    node: str
    text: Text


@dataclass(frozen=True, slots=True)
class Explanation:
    """code: a `Waiting`, or the job's phase. reason: the sentence. ahead: jobs before it."""

    job: JobKey
    code: str
    reason: Reason
    ahead: int = 0
    blockers: tuple[Blocker, ...] = ()
    helps: tuple[Text, ...] = ()


def explain(snapshot: Snapshot, job: JobKey, policy: Policy) -> Explanation:
    """Plan a round and explain one job by it. Raises KeyError for a job not in the snapshot."""
    return explain_by(plan(snapshot, policy), job)


def explain_by(made: Plan, job: JobKey) -> Explanation:
    """Explain one job by a plan that is already made. Raises KeyError."""
    listed = made.snapshot.job(job)
    if listed is None:
        raise KeyError(job)
    verdict = made.verdicts.get(job)
    if verdict is None:
        return _placed(made.snapshot, listed)
    blockers = tuple(_blockers(made, listed.state, verdict))
    helps = tuple(_helps(made, listed.state, verdict))
    ahead = made.verdicts.ahead(job)
    return Explanation(job, verdict.why, reason_of(made, listed, verdict), ahead, blockers, helps)


def _placed(snapshot: Snapshot, job: Listed) -> Explanation:
    holding = {one.key: one for one in snapshot.holding}
    awaited = awaited_by(job.state, holding) if is_hold(job.state) else []
    if awaited:
        why = texts.AWAITING.put(jobs=", ".join(victim.state.job for victim in awaited))
    else:
        queued = job.state.phase in {Phase.QUEUED, Phase.STARTING}
        why = texts.LAUNCH if queued else texts.NOT_QUEUED
    return Explanation(job.key, job.state.phase, texts.waiting(why))


def reason_of(made: Plan, job: Listed, verdict: Verdict) -> Reason:
    """Return the one sentence of a verdict."""
    short = verdict.short
    match verdict.why:
        case Waiting.NEVER_FITS if short:
            return texts.never(made.snapshot.pool, short)
        case Waiting.NODES_SHUT if short:
            return texts.waiting(texts.shortage(texts.NODES_SHUT, short))
        case Waiting.NO_ROOM | Waiting.NO_DOMAIN if short:
            return texts.waiting(texts.shortage(texts.NO_ROOM, short))
        case Waiting.NODES_ABSENT:
            return texts.waiting(texts.NODES_ABSENT.put(nodes=", ".join(verdict.nodes)))
        case Waiting.NOT_BEFORE:
            at = job.state.not_before
            return texts.waiting(texts.NOT_BEFORE.put(at=at.isoformat() if at else ""))
        case Waiting.SET_ASIDE:
            return texts.waiting(texts.SET_ASIDE)
        case Waiting.QUOTA if verdict.quota:
            return texts.waiting(texts.quota(verdict.quota))
        case Waiting.EVICTION_LIMIT:
            return texts.waiting(texts.EVICTION_LIMIT)
        case Waiting.NO_NODES:
            return texts.waiting(texts.NO_NODES)
        case _:
            return texts.waiting(texts.NOT_REACHED)


def _nodes(made: Plan) -> Mapping[str, NodeState]:
    return {n.node: n for n in sorted(made.snapshot.nodes, key=lambda n: n.node) if is_there(n)}


def _blockers(made: Plan, state: JobState, verdict: Verdict) -> Iterator[Blocker]:
    role = verdict.short.role if verdict.short else state.demand.roles[0]
    leaving, closed = _leaving(made.snapshot), _closed(made, state)
    for name, node in _nodes(made).items():
        if name in closed:
            yield Blocker(name, texts.SHUT[closed[name]].put(node=name))
        elif not serves(node.shape, role):
            have, want = node.shape.gpu_model, role.gpu_model
            yield Blocker(name, texts.MODEL.put(node=name, have=have, want=want))
        else:
            yield Blocker(name, _room(made, name, leaving.get(name, ())))


def _closed(made: Plan, state: JobState) -> dict[str, Shut]:
    nodes = _nodes(made)
    avoided = Fitting(nodes, made.policy, made.snapshot).avoided_by(state)
    blocked = made.snapshot.blocked(state)
    found = {name: shut(n, state, made.policy, avoided, blocked) for name, n in nodes.items()}
    return {name: why for name, why in found.items() if why}


def _leaving(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for job in snapshot.holding:
        if job.state.phase in {Phase.EVICTING, Phase.STOPPING}:
            for node in job.state.held:
                found[node] = (*found.get(node, ()), job.state.job)
    return found


def _room(made: Plan, node: str, leaving: tuple[str, ...]) -> Text:
    free, total = made.board.free(node), made.board.capacity(node)
    text = texts.ON_NODE.put(
        node=node,
        free=max(0, free.gpus),
        total=total.gpus,
        cpus=texts.cores(free),
        memory=max(0, free.memory),
    )
    if not leaving:
        return text
    more = texts.LEAVING.put(jobs=", ".join(sorted(leaving)))
    return Text(text.en + more.en, text.zh + more.zh)


def _helps(made: Plan, state: JobState, verdict: Verdict) -> Iterator[Text]:
    closed = _closed(made, state)
    excluded = sum(why is Shut.POLICY for why in closed.values())
    openable = [name for name, why in closed.items() if why in _AN_OPERATOR_OPENS]
    short = verdict.short
    if short and verdict.why is Waiting.NO_ROOM:
        yield texts.HELP_GPUS.put(count=short.need - short.fits)
    if short and short.fits:
        yield texts.HELP_SMALLER.put(fits=short.fits)
    if excluded:
        yield texts.HELP_POLICY.put(count=excluded)
    if openable:
        yield texts.HELP_OPEN.put(nodes=", ".join(openable))
    if verdict.why is Waiting.NO_ROOM and _could_rise(state, short.role if short else None):
        yield texts.HELP_PRIORITY


_AN_OPERATOR_OPENS = frozenset({Shut.CORDONED, Shut.DRAINING})


def _could_rise(state: JobState, role: Role | None) -> bool:
    priority = state.demand.priority
    return role is not None and priority is not None and priority < 90
