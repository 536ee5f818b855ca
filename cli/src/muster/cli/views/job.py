"""One job in full: where it stands, what it may still use up, what it holds, what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli.texts import pick, say
from muster.cli.views.faults import faults_of, last_failure
from muster.cli.views.jobs import gang, job_document
from muster.cli.views.stability import outlook_text
from muster.cli.views.states import reason_text, shown
from muster.cli.views.timeline import event_document, timeline
from muster.cli.views.tried import tried, tried_lines, way_out
from muster.cli.words import between, moment, plain
from muster.domain.deadlines import counts
from muster.domain.demand import Demand, Toleration
from muster.domain.phases import SHOWN_TEXT
from muster.domain.progress import Progress
from muster.domain.state import JobState
from muster.log import Recorded


def job_view(
    state: JobState,
    history: Sequence[Recorded],
    now: datetime,
    why: str,
    debugged_by: Sequence[JobState] = (),
) -> Group:
    """Return everything about a job. why: why it is not running yet, "" if it is.

    debugged_by: jobs that were made to look into it.
    """
    parts: list[RenderableType] = [
        _fields(
            (
                *facts(state, now, why),
                *_debugging(state, debugged_by),
                *_parked(state, history, now),
                *last_failure(state, faults_of(history)),
            )
        )
    ]
    if state.held:
        parts += [Text(), _held(state)]
    if history:
        parts += [Text(), timeline(history)]
    return Group(*parts)


def _debugging(state: JobState, debugged_by: Sequence[JobState]) -> Iterator[tuple[str, str]]:
    """Yield the job that it looks into, and those that look into it."""
    if state.origin is not None:
        yield say("show.origin"), f"{state.tenant}/{state.origin}"
    if debugged_by:
        shown_jobs = (f"{each.job} ({pick(SHOWN_TEXT[each.shown])})" for each in debugged_by)
        yield say("show.debugged_by"), say("comma").join(shown_jobs)


def _parked(
    state: JobState, history: Sequence[Recorded], now: datetime
) -> Iterator[tuple[str, str]]:
    """Yield what a person must know who decides about a parked job."""
    if not state.parked:
        return
    for number, line in enumerate(tried_lines(tried(history, now))):
        yield "" if number else say("show.tried"), line
    yield say("show.next"), way_out(state)


def facts(state: JobState, now: datetime, why: str = "") -> Iterator[tuple[str, str | Text]]:
    """Yield (label, value) of what a person wants to know first."""
    yield say("show.job"), f"{state.tenant}/{state.job}"
    yield say("show.name"), f"{state.name} ({state.user})"
    yield say("show.state"), Text.assemble(shown(state), f"  {between(state.since, now)}")
    if why or state.reason:
        yield say("show.why"), why or reason_text(state.reason)
    yield say("show.gang"), f"{gang(state.demand)}, {say('show.pool', pool=state.pool)}"
    yield from _wishes(state.demand)
    yield say("show.counts"), _counts(state)
    if state.outlook is not None:
        yield say("show.outlook"), outlook_text(state.outlook)
    yield from _progress(state.progress, now)
    for kind, at in sorted(state.deadlines.items(), key=lambda pair: pair[1]):
        if counts(kind, state):
            left = between(now, at)
            yield say(f"deadline.{kind}"), f"{moment(at)} ({say('show.left', left=left)})"
    if state.not_before is not None and state.not_before > now:
        yield say("show.not_before"), moment(state.not_before)
    if state.waits_for:
        victims = ", ".join(f"{wait.tenant}/{wait.job}" for wait in state.waits_for)
        yield say("show.waits_for"), victims
    if state.labels:
        yield say("show.labels"), ", ".join(f"{k}={v}" for k, v in state.labels.items())


def _progress(progress: Progress | None, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield how far the training told that it is, and whether it went on when it last ran again."""
    if progress is None:
        return
    parts = [say("show.step", step=progress.step)]
    if progress.checkpoint_step is not None:
        parts.append(say("show.checkpoint", step=progress.checkpoint_step))
    if progress.checkpointed_at is not None:
        parts.append(say("show.checkpointed", ago=between(progress.checkpointed_at, now)))
    yield say("show.progress"), say("comma").join(parts)
    found = progress.resumption
    if found is not None:
        key = "show.went_on" if found.kept else "show.lost"
        hours = f"{found.gpu_hours:.2f}"
        values = {"run": found.attempt, "before": found.step_before, "after": found.step_after}
        yield say("show.resumed"), say(key, hours=hours, **values)


def _wishes(demand: Demand) -> Iterator[tuple[str, str]]:
    """Yield what the job asks of its nodes beside room."""
    models = sorted({role.gpu_model for role in demand.roles if role.gpu_model})
    if models:
        yield say("show.models"), say("comma").join(models).replace("|", say("show.or"))
    if demand.locality is not None:
        mode, level = demand.locality.mode, demand.locality.level
        yield say("show.locality"), say(f"locality.{mode}", level=level)
    if demand.tolerations:
        yield say("show.tolerates"), say("comma").join(map(_toleration, demand.tolerations))


def _toleration(toleration: Toleration) -> str:
    if toleration.key is None:
        return say("show.every_taint")
    if toleration.value is None:
        return toleration.key
    return f"{toleration.key}={toleration.value}"


def _counts(state: JobState) -> str:
    ledgers = state.ledgers
    parts = [
        say("show.attempt", attempt=state.attempt, entry=state.queue_entry),
        say("show.requeues", used=ledgers.requeues, left=state.requeues_left)
        if state.demand.queue
        else say("show.no_queue"),
        say("show.restarts", used=ledgers.restarts, limit=state.demand.max_restarts),
    ]
    if ledgers.infrastructure:
        parts.append(say("show.infrastructure", count=len(ledgers.infrastructure)))
    if ledgers.starts:
        parts.append(say("show.starts", count=ledgers.starts))
    return say("comma").join(parts)


def _held(state: JobState) -> Table:
    placed = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    placed.add_column(say("column.node"))
    placed.add_column(say("column.workers"))
    for node, workers in state.held.items():
        named = [_worker(worker, state.cards.get(worker)) for worker in workers]
        placed.add_row(Text(plain(node)), Text(plain(", ".join(named))))
    return placed


def _worker(worker: str, card: int | None) -> str:
    return worker if card is None else say("show.on_card", worker=worker, card=card)


def _fields(pairs: Iterable[tuple[str, str | Text]]) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for label, value in pairs:
        made.add_row(label, Text(plain(value)) if isinstance(value, str) else value)
    return made


def job_in_full(
    state: JobState,
    history: Sequence[Recorded],
    why: str,
    debugged_by: Sequence[JobState] = (),
) -> dict[str, Any]:
    """Return the same for JSON. tried: the queueings so far, the last one until its last event."""
    until = history[-1].event.time if history else state.since
    return {
        "job": job_document(state, why),
        "debugged_by": [each.job for each in debugged_by],
        "tried": [each.model_dump(mode="json") for each in tried(history, until)],
        "timeline": [event_document(i) for i in history],
    }
