"""A job explained: its state, why, how many are before it, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from muster.cli.texts import say
from muster.cli.views.plan import because
from muster.cli.views.states import reason_text, shown
from muster.cli.views.tried import tried_lines, way_out
from muster.cli.waiting import place_in, why
from muster.cli.words import between, clock, moment, plain
from muster.contracts.queries import QueryAnswer
from muster.domain.phases import Phase
from muster.domain.pools import PoolSummary
from muster.domain.queueings import Queueing
from muster.domain.state import DeadlineKind, JobState
from muster.domain.waiting import WhyCode


def explanation(
    state: JobState,
    summary: PoolSummary | None,
    now: datetime,
    answer: QueryAnswer | None = None,
    found: Sequence[Queueing] = (),
) -> Iterator[Text]:
    """Yield the sentences. answer: the scheduler's, which goes before the last summary.

    found: what was tried, for a job that waits for a person.
    """
    title = say("explain.state", name=plain(state.name), job=state.job, state="")
    ago = say("explain.since", at=clock(state.since), span=between(state.since, now))
    yield Text.assemble((title, "bold"), shown(state), f"  {ago}")
    reason = _because(state, summary, answer)
    if reason:
        yield Text(say("explain.because", why=reason))
    for line in tried_lines(found):
        yield Text(f"  {line}", "dim")
    code = _code(state, summary, answer)
    if state.phase is Phase.QUEUED and code != WhyCode.SUPPOSED_GONE:
        yield Text(_place(state, summary, answer))
    yield Text(say("explain.next", what=_next(state, code)))


def _because(state: JobState, summary: PoolSummary | None, answer: QueryAnswer | None) -> str:
    if answer is not None and answer.explanation is not None:
        return because(answer.explanation, state.pool)
    return why(state, summary) if state.phase is Phase.QUEUED else reason_text(state.reason)


def _place(state: JobState, summary: PoolSummary | None, answer: QueryAnswer | None) -> str:
    if summary is None:
        return say("explain.no_round", pool=state.pool)
    told = place_in(state, summary)
    ahead: object = "?" if told is None else told.ahead
    waiting = summary.waiting
    live = answer.explanation if answer else None
    if live is not None and live.ahead is not None:
        ahead, waiting = live.ahead, live.waiting or waiting
    free = {"free": summary.gpus_free, "gpus": summary.gpus, "pool": state.pool}
    return say("explain.place", ahead=ahead, waiting=waiting, **free)


def _code(state: JobState, summary: PoolSummary | None, answer: QueryAnswer | None) -> str | None:
    """Return the code of the reason why a job is not running, None if it is not known."""
    if answer is not None and answer.explanation is not None:
        return answer.explanation.why.code
    told = place_in(state, summary)
    return told.code if told else None


def _next(state: JobState, code: str | None) -> str:
    if code == WhyCode.SUPPOSED_GONE:
        return say("explain.next.supposed_gone")
    match state.phase:
        case Phase.QUEUED if code == WhyCode.SPOT_DISABLED:
            return say("explain.next.no_spot", more=_patience(state))
        case Phase.QUEUED if code in {WhyCode.NEVER_FITS, WhyCode.NODES_ABSENT}:
            return say("explain.next.never", more=_patience(state))
        case Phase.QUEUED:
            return say("explain.next.queued", more=_patience(state))
        case Phase.EVICTING | Phase.STOPPING:
            grace = state.due(DeadlineKind.GRACE) or state.due(DeadlineKind.RELEASE)
            return say("explain.next.leaving", at=clock(grace) if grace else "?")
        case Phase.ABNORMAL:
            return way_out(state)
        case Phase.STARTING if state.waits_for:
            victims = ", ".join(wait.job for wait in state.waits_for)
            return say("explain.next.victims", jobs=victims)
        case _ if state.terminal:
            return say("explain.next.over")
        case _ if state.held:
            return say("explain.next.held", nodes=", ".join(state.held))
    return say("explain.next.soon")


def _patience(state: JobState) -> str:
    deadline = state.due(DeadlineKind.QUEUE)
    if state.one_shot:
        return say("explain.more.one_shot")
    if deadline is not None:
        return say("explain.more.deadline", at=moment(deadline))
    return say("explain.more.forever")


def explanation_document(
    state: JobState, summary: PoolSummary | None, answer: QueryAnswer | None = None
) -> dict[str, Any]:
    """Return the same for JSON."""
    told = place_in(state, summary)
    return {
        "tenant": state.tenant,
        "job": state.job,
        "name": state.name,
        "phase": state.phase.value,
        "reason": state.reason.model_dump(mode="json") if state.reason else None,
        "waiting": told.model_dump(mode="json") if told else None,
        "pool": summary.model_dump(mode="json", exclude={"queue"}) if summary else None,
        "answer": answer.model_dump(mode="json") if answer else None,
        "deadlines": {kind.value: at.isoformat() for kind, at in state.deadlines.items()},
    }
