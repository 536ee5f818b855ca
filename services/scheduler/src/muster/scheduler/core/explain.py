"""Why a job is not running: the verdict of a plan as data, node by node, and what would help.

Made from a plan, so it never says anything else than what the scheduler does. Total: there is an
explanation for a job in any phase and of any verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice

from muster.domain.facts import Declined, Scheduled
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.usage import foreign_gpus
from muster.domain.waiting import Explanation, NodeNote, Why, WhyCode
from muster.domain.waiting_words import in_general, why
from muster.scheduler.core import texts
from muster.scheduler.core.doors import Shut, is_there, serves, shut
from muster.scheduler.core.estimate import estimate
from muster.scheduler.core.fitting import Fitting
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.placement import NODE, Shortfall
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Short
from muster.scheduler.core.remedies import remedies
from muster.scheduler.core.rooms import ZONE
from muster.scheduler.core.shadow import Reservation
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, is_hold
from muster.scheduler.core.stock import Scarce
from muster.scheduler.core.upkeep import awaited_by
from muster.scheduler.core.verdicts import Plan, Verdict, Waiting

MOST_NODES = 64
"""So many nodes are spoken of one by one; all of them are counted."""


def explain(snapshot: Snapshot, job: JobKey, policy: Policy) -> Explanation:
    """Plan a round and explain one job by it. Raises KeyError for a job not in the snapshot."""
    return explain_by(plan(snapshot, policy), job)


def explain_by(
    made: Plan, job: JobKey, memory: Memory | None = None, walks: Memory | None = None
) -> Explanation:
    """Explain one job by a plan that is already made. Raises KeyError.

    memory: see `remedies`; walks: see `eta`.
    """
    listed = made.snapshot.job(job)
    if listed is None:
        raise KeyError(job)
    if listed.state.phase is not Phase.QUEUED:
        return _beyond(made.snapshot, listed)
    verdict = made.verdicts.get(job)
    if verdict is None or is_declined(made, job):
        return _decided(made, listed, verdict)
    if verdict.why is Waiting.NOT_REACHED:
        verdict = _if_reached(made, job, memory) or verdict
    found = _waits(made, listed, verdict, memory)
    return found.model_copy(update={"estimate": estimate(made, job, walks)})


def _if_reached(made: Plan, job: JobKey, memory: Memory | None) -> Verdict | None:
    """Return what a round would say that begins with a job; None if it would place it."""
    begun = plan(replace(made.snapshot, cursor=job, memory=memory), made.policy)
    return begun.verdicts.get(job)


def explain_state(state: JobState, now: datetime) -> Explanation:
    """Explain a job by its state alone: one that is neither queued nor holds anything, say."""
    told = _by_phase(state)
    return Explanation(
        tenant=state.tenant,
        job=state.job,
        phase=state.phase,
        why=told,
        helps=(in_general(WhyCode(told.code)),),
    )


def explain_gone(state: JobState) -> Explanation:
    """Explain a job that a what-if takes away."""
    told = why(WhyCode.SUPPOSED_GONE)
    return Explanation(
        tenant=state.tenant,
        job=state.job,
        phase=state.phase,
        why=told,
        helps=(in_general(WhyCode.SUPPOSED_GONE),),
    )


def is_declined(made: Plan, job: JobKey) -> bool:
    """Tell whether the plan ends a one-shot job."""
    found = (one for move in made.moves for one in move.decisions if one.job == job)
    return any(isinstance(one.fact, Declined) for one in found)


def is_placed(made: Plan, job: JobKey) -> bool:
    """Tell whether the plan places a job."""
    found = (one for move in made.moves for one in move.decisions if one.job == job)
    return any(isinstance(one.fact, Scheduled) for one in found)


# --- a job that waits ----------------------------------------------------------------------------


def _waits(made: Plan, job: Listed, verdict: Verdict, memory: Memory | None) -> Explanation:
    notes = list(_notes(made, job.state, verdict))
    helps = remedies(made, job, verdict, memory)
    told = why_of(made, job, verdict)
    return Explanation(
        tenant=job.state.tenant,
        job=job.state.job,
        phase=job.state.phase,
        why=told,
        ahead=made.verdicts.ahead(job.key),
        waiting=made.snapshot.book.waiting,
        helps=helps or (in_general(WhyCode(told.code)),),
        nodes=tuple(islice(notes, MOST_NODES)),
        node_counts=dict(sorted(Counter(note.code for note in notes).items())),
    )


def why_of(made: Plan, job: Listed, verdict: Verdict) -> Why:
    """Return the reason of a verdict."""
    code = WhyCode(verdict.why.value)
    match verdict.why:
        case Waiting.NODES_ABSENT | Waiting.EVICTION_LIMIT | Waiting.SPOT_DISABLED:
            return why(code, **_named(made, job, verdict))
        case Waiting.NOT_BEFORE:
            at = job.state.not_before
            return why(code, at=at.isoformat() if at else "")
        case Waiting.NOT_REACHED if verdict.kept is not None and verdict.kept.job == job.key:
            room = _amounts(job.state, verdict.short)
            return why(WhyCode.NO_ROOM, **room, **_kept(verdict.kept))
        case Waiting.SET_ASIDE | Waiting.NO_NODES | Waiting.BEHIND | Waiting.NOT_REACHED:
            return why(code)
        case Waiting.STOCK | Waiting.SPOT_QUOTA if verdict.stock is not None:
            said = _stock(verdict.stock) if verdict.stock.zone else _spot_quota(made, verdict.stock)
            return why(code, **said)
        case Waiting.QUOTA if verdict.quota is not None:
            return why(code, **_shares(verdict.quota))
        case Waiting.RESERVED if verdict.kept is not None:
            return why(code, **_kept(verdict.kept))
        case Waiting.NO_ROOM if verdict.kept is not None and verdict.kept.job == job.key:
            return why(code, **_amounts(job.state, verdict.short), **_kept(verdict.kept))
    kind = _kind(made, verdict.short) if code is WhyCode.NEVER_FITS else {}
    return why(code, **_amounts(job.state, verdict.short), **kind)


def _named(made: Plan, job: Listed, verdict: Verdict) -> dict[str, int | str]:
    match verdict.why:
        case Waiting.NODES_ABSENT:
            return {"nodes": ", ".join(verdict.nodes)}
        case Waiting.EVICTION_LIMIT:
            return {"limit": made.policy.max_evictions_per_minute}
        case _:
            return {"tenant": job.state.tenant}


def _kind(made: Plan, short: Shortfall | None) -> dict[str, str]:
    if short is None or short.level is None:
        return {}
    return {"kind": "domain" if _is_known(made, short.level) else "label"}


def _is_known(made: Plan, level: str) -> bool:
    """Tell whether any node belongs to a domain of this kind."""
    nodes = nodes_of(made).values()
    return level in {NODE, ZONE} or any(node.shape.labels.get(level) for node in nodes)


def _kept(kept: Reservation) -> dict[str, int | str]:
    return {
        "kind": f"kept by {kept.shadow.basis.name.lower()}",
        "by": kept.job[1],
        "since": texts.clock(kept.since),
        "until": texts.clock(kept.until) if kept.until else "-",
        "nodes": len(kept.shadow.placement),
    }


def _shares(short: Short) -> dict[str, int | str]:
    return {
        "kind": "share" if short.guaranteed else "ceiling",
        "tenant": short.tenant,
        "model": short.gpu_model,
        "limit": texts.gpus(short.limit),
        "used": texts.gpus(short.used),
        "asked": texts.gpus(short.asked),
    }


def _stock(scarce: Scarce) -> dict[str, int | str]:
    return {
        "zone": scarce.zone,
        "model": scarce.gpu_model,
        "offered": texts.gpus(scarce.offered),
        "used": texts.gpus(scarce.used),
        "asked": texts.gpus(scarce.asked),
    }


def _spot_quota(made: Plan, scarce: Scarce) -> dict[str, int | str]:
    measured = made.snapshot.spot_quota
    row = measured.of(scarce.gpu_model) if measured else None
    known = row is not None and row.forecast is not None
    return {
        "model": scarce.gpu_model,
        "quota": texts.gpus(scarce.offered),
        "used": texts.gpus(scarce.used),
        "asked": texts.gpus(scarce.asked),
        "capacity": f"{row.capacity:g}" if row else "-",
        "forecast": f"{row.forecast:g}" if row and known else "-",
    }


def _amounts(state: JobState, short: Shortfall | None) -> dict[str, int | str]:
    role = short.role if short else state.demand.roles[0]
    near: dict[str, int | str] = {}
    if short is not None and short.level is not None:
        near = {"level": short.level, "domain": short.domain or "-"}
    return near | {
        "role": role.name,
        "need": short.need if short else role.replicas,
        "fits": short.fits if short else 0,
        "spec": texts.spec(role),
    }


# --- a job that the plan has decided about --------------------------------------------------------


def _decided(made: Plan, job: Listed, verdict: Verdict | None) -> Explanation:
    if is_placed(made, job.key):
        told = why(WhyCode.FITS_NOW)
    elif verdict is not None and verdict.why is Waiting.SPOT_DISABLED:
        told = why_of(made, job, verdict)
    elif is_declined(made, job.key):
        told = why(WhyCode.DECLINED, **_amounts(job.state, verdict.short if verdict else None))
    else:
        told = why(WhyCode.NO_ROUND)
    found = explain_state(job.state, made.snapshot.now)
    return found.model_copy(
        update={"why": told, "helps": (in_general(WhyCode(told.code)),), "ahead": 0}
    )


# --- a job beyond the queue -----------------------------------------------------------------------


def _beyond(snapshot: Snapshot, job: Listed) -> Explanation:
    found = explain_state(job.state, snapshot.now)
    if not is_hold(job.state):
        return found
    awaited = awaited_by(job.state, {one.key: one for one in snapshot.holding})
    if not awaited:
        return found
    told = why(WhyCode.VICTIMS, jobs=", ".join(sorted(victim.state.job for victim in awaited)))
    return found.model_copy(update={"why": told, "helps": (in_general(WhyCode.VICTIMS),)})


_PHASES: Mapping[Phase, WhyCode] = {
    Phase.SUBMITTED: WhyCode.SUBMITTED,
    Phase.REJECTED: WhyCode.REJECTED,
    Phase.QUEUED: WhyCode.NO_ROUND,
    Phase.STARTING: WhyCode.LAUNCH,
    Phase.RUNNING: WhyCode.RUNNING,
    Phase.EVICTING: WhyCode.EVICTING,
    Phase.INTERRUPTED: WhyCode.INTERRUPTED,
    Phase.FAULTED: WhyCode.FAULTED,
    Phase.STOPPING: WhyCode.STOPPING,
    Phase.DEBUG_HOLDING: WhyCode.DEBUG_HOLDING,
    Phase.ABNORMAL: WhyCode.ABNORMAL,
    Phase.STOPPED: WhyCode.STOPPED,
    Phase.SUCCEEDED: WhyCode.SUCCEEDED,
    Phase.FAILED: WhyCode.FAILED,
}


def _by_phase(state: JobState) -> Why:
    code, reason = _PHASES[state.phase], state.reason
    if code is WhyCode.EVICTING:
        return why(code, cause=str(state.eviction.cause) if state.eviction else "-")
    return why(code, why=reason.en if reason else "-", why_zh=reason.zh if reason else "-")


# --- node by node ------------------------------------------------------------------------------


def _notes(made: Plan, state: JobState, verdict: Verdict) -> Iterator[NodeNote]:
    role = verdict.short.role if verdict.short else state.demand.roles[0]
    leaving, closed = _leaving(made.snapshot), closed_to(made, state)
    for name, node in nodes_of(made).items():
        if name in closed:
            yield texts.note(name, closed[name].value, texts.SHUT[closed[name]])
        elif not serves(node.shape, role):
            have, want = node.shape.gpu_model, role.gpu_model or ""
            yield texts.note(name, "model", texts.MODEL, have=have, want=want)
        else:
            yield _room(made, node, leaving.get(name, ()))


def nodes_of(made: Plan) -> dict[str, NodeState]:
    """Return the nodes that the pool has, by name."""
    return {n.node: n for n in sorted(made.snapshot.nodes, key=lambda n: n.node) if is_there(n)}


def closed_to(made: Plan, state: JobState) -> dict[str, Shut]:
    """Return the nodes that take no worker of a job, and what shuts each."""
    nodes = nodes_of(made)
    avoided = Fitting(nodes, made.policy, made.snapshot).avoided_by(state)
    blocked = made.snapshot.blocked(state)
    found = {name: shut(n, state, made.policy, avoided, blocked) for name, n in nodes.items()}
    listed = made.snapshot.listed(state)
    return {
        name: Shut.SPOT if reason is Shut.BLOCKED and name not in listed else reason
        for name, reason in found.items()
        if reason
    }


def _leaving(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for job in snapshot.holding:
        if job.state.phase in {Phase.EVICTING, Phase.STOPPING}:
            for node in job.state.held:
                found[node] = (*found.get(node, ()), job.state.job)
    return found


def _room(made: Plan, node: NodeState, leaving: tuple[str, ...]) -> NodeNote:
    free, total = made.board.free(node.node), made.board.capacity(node.node)
    found = texts.note(
        node.node,
        "room",
        texts.ON_NODE,
        free=max(0, free.gpus),
        total=total.gpus,
        cpus=texts.cores(free),
        memory=max(0, free.memory),
    )
    if others := foreign_gpus(node):
        found = _and(found, texts.FOREIGN.put(foreign=others), foreign=others)
    if leaving:
        jobs = ", ".join(sorted(leaving))
        found = _and(found, texts.LEAVING.put(jobs=jobs), leaving=len(leaving))
    return found


def _and(note: NodeNote, more: texts.Text, **numbers: int) -> NodeNote:
    """Return a note that says more."""
    return note.model_copy(
        update={
            "en": note.en + more.en,
            "zh": note.zh + more.zh,
            "numbers": {**note.numbers, **numbers},
        }
    )
