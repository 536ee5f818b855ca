"""Compares a world with what a scenario expects; every difference is one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from muster.cli.simulation.scenario_stage import Stage
from muster.cli.simulation.scenario_then import Check, Group, JobCheck, NodeCheck
from muster.contracts.requests import Answer
from muster.domain.pools import PoolSummary
from muster.domain.state import DeadlineKind, JobState
from muster.log.memory import StoredEntry

CLOCK_S = 5.0
"""So exactly does a story have to name the end of a queue entry."""


def differences(stage: Stage, check: Check, late: float = 0.0) -> list[str]:
    """Return what is not as expected. late: seconds by which things may have come later."""
    return list(_differences(stage, check, late))


def _differences(stage: Stage, check: Check, late: float) -> Iterator[str]:
    for name, wanted in check.jobs.items():
        yield from (f"{name}: {line}" for line in _job(stage, name, wanted, late))
    for group in check.groups:
        yield from _group(stage, group)
    for name, node in check.nodes.items():
        yield from (f"{name}: {line}" for line in _node(stage, name, node))
    if check.counts:
        found = Counter(_names(stage.world.store.entries))
        yield from _differ((f"events {k}", found[k], v) for k, v in check.counts.items())
    for label, answer in check.answers.items():
        yield from _differ([(f"answer to {label}", _answer(stage, label), answer)])
    for label, texts in check.said.items():
        yield from _differ([(f"what was said to {label}", _said(stage, label), texts)])
    if check.parked is not None:
        yield from _differ([("parked messages", len(stage.world.bus.parked), check.parked)])


def _differ(rows: Iterable[tuple[str, object, object]]) -> Iterator[str]:
    for what, found, wanted in rows:
        if wanted is not None and found != wanted:
            yield f"{what} is {found!r}, expected {wanted!r}"


def _names(entries: Sequence[StoredEntry]) -> list[str]:
    return [entry.subject.rpartition(".")[2] for entry in entries if entry.event is not None]


# --- a job -------------------------------------------------------------------------------------


def _job(stage: Stage, name: str, wanted: JobCheck, late: float) -> Iterator[str]:
    state = stage.job(name)
    if state is None:
        yield "there is no such job in the log"
        return
    yield from _differ(_plain(stage, state, wanted))
    yield from _clock(stage, state, wanted, late)
    yield from _reason(state, wanted)
    yield from _events(_names(stage.entries(name)), wanted)
    if wanted.processes is not None:
        started = stage.cluster.started.items()
        count = sum(times for who, times in started if who.job == state.job)
        yield from _differ([("processes started", count, wanted.processes)])
    if wanted.waiting is not None:
        yield from _differ([("waiting", _waiting(stage, state), wanted.waiting)])


def _plain(stage: Stage, state: JobState, wanted: JobCheck) -> Iterator[tuple[str, object, object]]:
    ledgers = state.ledgers
    yield "phase", str(state.phase), wanted.phase and str(wanted.phase)
    yield "shown", str(state.shown), wanted.shown and str(wanted.shown)
    yield "attempt", state.attempt, wanted.attempt
    yield "queue entry", state.queue_entry, wanted.entry
    yield "one_shot", state.one_shot, wanted.one_shot
    yield "requeues", ledgers.requeues, wanted.requeues
    yield "restarts", ledgers.restarts, wanted.restarts
    yield "starts", ledgers.starts, wanted.starts
    yield "infrastructure", len(ledgers.infrastructure), wanted.infrastructure
    yield "hangs", ledgers.hangs, wanted.hangs
    yield "priority", state.demand.priority, wanted.priority
    yield "nodes held", sorted(state.held), _sorted(wanted.on)
    yield "cards", dict(state.cards), None if wanted.cards is None else dict(wanted.cards)
    waits = sorted(stage.name_of(wait.job) for wait in state.waits_for)
    yield "waits for", waits, _sorted(wanted.waits_for)


def _clock(stage: Stage, state: JobState, wanted: JobCheck, late: float) -> Iterator[str]:
    due = state.due(DeadlineKind.QUEUE)
    if wanted.queue_until is None:
        return
    until = stage.second(due) if due else None
    if until is None or not -CLOCK_S <= until - wanted.queue_until <= CLOCK_S + late:
        yield f"queue entry ends at {until}, expected {wanted.queue_until}"


def _sorted(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _reason(state: JobState, wanted: JobCheck) -> Iterator[str]:
    why = state.reason
    if wanted.reason is not None:
        yield from _differ([("reason", why and str(why.code), str(wanted.reason))])
    for text, parts in (("en", wanted.text), ("zh", wanted.text_zh)):
        sentence = why.text(text) if why else ""
        yield from (f"text {sentence!r} lacks {p!r}" for p in parts if p not in sentence)


def _events(names: list[str], wanted: JobCheck) -> Iterator[str]:
    rest = iter(names)
    for event in wanted.events:
        if event not in rest:
            yield f"event {event} is missing or in another order; there are {names}"
            break
    for event, count in wanted.count.items():
        yield from _differ([(f"events {event}", names.count(event), count)])
    yield from (f"event {event} stands in the log" for event in wanted.never if event in names)


def _waiting(stage: Stage, state: JobState) -> str | None:
    for entry in reversed(stage.world.store.entries):
        detail = entry.event.data.detail if entry.event else None
        if isinstance(detail, PoolSummary):
            return next((one.code for one in detail.queue if one.job == state.job), None)
    return None


# --- the rest ------------------------------------------------------------------------------------


def _group(stage: Stage, group: Group) -> Iterator[str]:
    names = [name for entry in group.jobs for name in _members(stage, entry)]
    found = Counter(s.phase.value for name in names if (s := stage.job(name)))
    for phase, count in group.phases.items():
        yield from _differ([(f"{', '.join(group.jobs)}: number {phase}", found[phase], count)])


def _members(stage: Stage, entry: str) -> tuple[str, ...]:
    return stage.given.names_of(entry) if entry in stage.given.jobs else (entry,)


def _node(stage: Stage, name: str, wanted: NodeCheck) -> Iterator[str]:
    state = stage.known.nodes.get(name)
    if state is None:
        yield "there is no such node in the log"
        return
    condition = wanted.condition and str(wanted.condition)
    yield from _differ([("condition", str(state.condition), condition)])
    yield from _differ([("cordoned", state.cordoned, wanted.cordoned)])
    yield from _differ([("free GPUs", stage.cluster.free_gpus(name), wanted.free)])
    foreign = state.foreign.gpus if state.foreign else 0
    yield from _differ([("GPUs of others", foreign, wanted.foreign)])


def _answer(stage: Stage, label: str) -> tuple[str, ...] | None:
    last = _last_answer(stage, label)
    if last is None:
        return None
    return ("accepted",) if last.accepted else tuple(v.code for v in last.violations)


def _said(stage: Stage, label: str) -> tuple[str, ...] | None:
    last = _last_answer(stage, label)
    return tuple(v.en for v in last.violations) if last else None


def _last_answer(stage: Stage, label: str) -> Answer | None:
    suffix = f".{label}"
    found = [a for key, a in stage.world.bus.answers.items() if key.endswith(suffix)]
    return found[0][-1] if found and found[0] else None
