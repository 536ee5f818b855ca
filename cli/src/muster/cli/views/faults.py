"""Every failure of a job: when, where, why, what was decided, who paid, and what followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli import output
from muster.cli.texts import pick, say
from muster.cli.views.states import reason_text
from muster.cli.words import between, moment, plain
from muster.domain.diagnosis import Counts, Diagnosis, EvidenceLine, Source
from muster.domain.faulted import Faulted, faulted
from muster.domain.phases import SHOWN_TEXT
from muster.domain.state import JobState
from muster.log import Recorded


def faults_of(history: Sequence[Recorded]) -> tuple[Faulted, ...]:
    """Return the failures that a job's events tell of."""
    return faulted((each.event.data.detail, each.job, each.event.time) for each in history)


def faults_view(
    state: JobState, found: Sequence[Faulted], debugged_by: Sequence[JobState]
) -> Group:
    """Return all of them, the oldest first."""
    name = plain(state.name)
    if not found:
        return Group(Text(say("faults.none", name=name)), *_linked(state, debugged_by))
    hours = sum(each.diagnosis.gpu_hours for each in found if each.diagnosis)
    head = say("faults.head", name=name, count=len(found), hours=f"{hours:.2f}")
    parts: list[RenderableType] = [Text(head, "bold")]
    for each in found:
        parts += [Text(), *_one(each, state)]
    return Group(*parts, *_linked(state, debugged_by))


def _one(each: Faulted, state: JobState) -> Iterator[RenderableType]:
    at = moment(each.failed_at or each.judged_at)
    yield Text(say("faults.title", attempt=each.attempt, at=at), "bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _rows(each, state):
        grid.add_row(say(f"faults.{label}"), Text(plain(value)))
    yield grid
    if each.diagnosis is not None and each.diagnosis.evidence:
        yield _evidence(each.diagnosis)


def _rows(each: Faulted, state: JobState) -> Iterator[tuple[str, str]]:
    if each.started_at is not None and each.failed_at is not None:
        yield "ran", between(each.started_at, each.failed_at)
    yield "verdict", say(f"faults.verdict.{each.event}")
    yield "why", str(reason_text(each.reason))
    if each.diagnosis is not None:
        yield from _judgement(each.diagnosis)
    yield "next", _next(each, state)


def _judgement(found: Diagnosis) -> Iterator[tuple[str, str]]:
    yield (
        "cause",
        say(
            "faults.cause_of",
            blame=say(f"diagnose.blame.{found.blame}"),
            kind=say(f"diagnose.kind.{found.kind}"),
            stage=say(f"diagnose.stage.{found.stage}"),
            spread=say(f"diagnose.spread.{found.spread}"),
            confidence=f"{found.confidence:.0%}",
        ),
    )
    known = "faults.rule_of" if found.rule else "faults.unknown"
    yield "rule", say(known, rule=found.rule, version=found.rules)
    if found.first:
        named = say("faults.at_node", worker=found.first, node=found.node)
        yield "first", named if found.node else found.first
    if found.before is not None and found.after is not None:
        before, after = _counts(found.before), _counts(found.after)
        both = say("faults.from_to", before=before, after=after)
        yield "ledgers", before if before == after else both
        yield "paid", say(f"faults.paid.{_paid(found.before, found.after)}")
    if found.nodes:
        yield "blamed", say("comma").join(found.nodes)
    if found.excluded:
        yield "excluded", say("comma").join(found.excluded)
    yield "lost", f"{found.gpu_hours:.2f}"
    if found.incident:
        yield "incident", found.incident
    if found.fingerprint:
        yield "fingerprint", found.fingerprint


def _paid(before: Counts, after: Counts) -> str:
    """Return the ledger that the decision used."""
    names = ("restarts", "infrastructure", "hangs", "requeues")
    used = (name for name in names if getattr(after, name) > getattr(before, name))
    return next(used, "none")


def _counts(counts: Counts) -> str:
    return say(
        "faults.ledger",
        restarts=counts.restarts,
        left=counts.restarts_left,
        infrastructure=counts.infrastructure,
        hangs=counts.hangs,
        requeues=counts.requeues,
    )


def _next(each: Faulted, state: JobState) -> str:
    if each.next_attempt is None:
        phase = pick(SHOWN_TEXT[state.shown])
        return say("faults.next_none", phase=phase)
    key = "faults.next_ran" if each.ran else "faults.next_begun"
    told = say(key, attempt=each.next_attempt)
    if each.not_before is None:
        return told
    return say("faults.next_waits", next=told, at=moment(each.not_before))


def _evidence(found: Diagnosis) -> Table:
    titles = ("source", "worker", "rule", "line")
    made = output.table(*(say(f"diagnose.column.{title}") for title in titles))
    for each in found.evidence:
        source = say(f"diagnose.source.{each.source}")
        whose = each.worker or each.node or ""
        output.row(made, source, plain(whose), each.rule or "", plain(evidence_text(each)))
    return made


def evidence_text(each: EvidenceLine) -> str:
    """Return a line of evidence; what Muster itself remembers is told in words."""
    if each.source is Source.HISTORY and each.rule:
        return say(f"faults.{each.rule}", text=each.text)
    return pick((each.text, each.zh or each.text))


def _linked(state: JobState, debugged_by: Sequence[JobState]) -> Iterator[Text]:
    if debugged_by:
        jobs = say("comma").join(each.job for each in debugged_by)
        yield Text(say("faults.linked", jobs=jobs), "dim")
    if state.origin is not None:
        yield Text(say("faults.origin", job=state.origin), "dim")


def last_failure(state: JobState, found: Sequence[Faulted]) -> Iterator[tuple[str, str]]:
    """Yield the newest failure in two lines, for the view of the whole job."""
    if not found:
        return
    last = found[-1]
    verdict = say(f"faults.verdict.{last.event}")
    yield say("faults.last"), f"{moment(last.failed_at or last.judged_at)}: {verdict}"
    yield "", str(reason_text(last.reason))
    if last.diagnosis is not None and last.diagnosis.evidence:
        yield "", plain(evidence_text(last.diagnosis.evidence[0]))
    yield "", say("faults.more", job=state.job)


def faults_document(
    state: JobState, found: Sequence[Faulted], debugged_by: Sequence[JobState]
) -> dict[str, Any]:
    """Return the same as plain values; keys are stable."""
    return {
        "tenant": state.tenant,
        "job": state.job,
        "origin": state.origin,
        "debugged_by": [each.job for each in debugged_by],
        "faults": [each.model_dump(mode="json") for each in found],
    }
