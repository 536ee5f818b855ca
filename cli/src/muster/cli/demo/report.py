"""The end of the demo: what happened, what it proves, what people were told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli.demo import script
from muster.cli.demo.evidence import Judgement, Run, judge
from muster.cli.demo.mailbox import Letter, judge_letters, letters
from muster.cli.demo.stage import Stage
from muster.cli.demo.story import Story
from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.views.timeline import event_document, timeline
from muster.cli.words import clock
from muster.domain.facts import ProgressLost, ResumeVerified
from muster.domain.phases import SHOWN_TEXT, Phase
from muster.domain.state import JobState
from muster.log import Recorded


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the demo shows at its end."""

    state: JobState | None
    events: Sequence[Recorded]
    runs: dict[int, Run]
    letters: Sequence[Letter]
    judgements: Sequence[Judgement]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether everything is as it should be."""
        return all(judgement.good for judgement in self.judgements)


def make_report(stage: Stage, story: Story, began: float) -> Report:
    """Judge what was seen."""
    watch = story.watch
    found = letters(stage.bot.received, stage.secret, (story.training, story.urgent))
    judgements = [
        _outcome(watch.state),
        *judge(watch.runs, script.STEPS),
        _verified(watch.events),
        *judge_letters(found, story.expected),
    ]
    seconds = time.monotonic() - began
    return Report(watch.state, watch.events, watch.runs, found, judgements, seconds)


def _outcome(state: JobState | None) -> Judgement:
    """Once evicted, once requeued, run twice, and succeeded."""
    if state is None:
        return Judgement("outcome", False, {"phase": "-", "runs": 0, "entries": 0})
    once = state.attempt == 2 and state.queue_entry == 2 and state.ledgers.requeues == 1
    phase = pick(SHOWN_TEXT[state.shown])
    values = {"phase": phase, "runs": state.attempt, "entries": state.queue_entry}
    return Judgement("outcome", state.phase is Phase.SUCCEEDED and once, values)


def _verified(events: Sequence[Recorded]) -> Judgement:
    """Muster itself has found, once, that the second run went on."""
    said = [item.event.data.detail for item in events]
    found = [each for each in said if isinstance(each, ResumeVerified | ProgressLost)]
    if len(found) != 1:
        return Judgement("verified", False, {"before": "-", "after": "-"})
    values = {"before": found[0].step_before, "after": found[0].step_after}
    return Judgement("verified", isinstance(found[0], ResumeVerified), values)


def report_view(report: Report) -> Group:
    """Return it for people."""
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text(f"\n{say('demo.title.timeline')}", "bold underline")
    yield timeline(report.events)
    yield Text(f"\n{say('demo.title.letters')}", "bold underline")
    yield _letters(report.letters)
    yield Text(f"\n{say('demo.title.proof')}", "bold underline")
    for judgement in report.judgements:
        yield _judgement(judgement)
    key = "demo.passed" if report.passed else "demo.failed"
    style = "bold green" if report.passed else "bold red"
    yield Text(f"\n{say(key, seconds=f'{report.seconds:.0f}')}", style)


def _letters(found: Sequence[Letter]) -> Table:
    titles = ("at", "letter", "words", "verified")
    made = table(*(say(f"column.{title}") for title in titles))
    for letter in found:
        at = clock(datetime.fromtimestamp(letter.at, UTC))
        good = Text(say("demo.yes"), "green") if letter.verified else Text(say("demo.no"), "red")
        row(made, at, letter.title, letter.words, good)
    return made


def _judgement(judgement: Judgement) -> Text:
    mark, style = ("✓ ", "green") if judgement.good else ("✗ ", "bold red")
    return Text.assemble((mark, style), say(f"demo.proof.{judgement.key}", **judgement.values))


def report_document(report: Report) -> dict[str, Any]:
    """Return it for JSON."""
    return {
        "passed": report.passed,
        "seconds": round(report.seconds, 1),
        "job": report.state.model_dump(mode="json") if report.state else None,
        "runs": {
            str(attempt): {
                "loaded": run.loaded,
                "saved": run.saved,
                "steps": [[point.step, point.loss] for point in run.points],
            }
            for attempt, run in report.runs.items()
        },
        "judgements": [
            {
                "check": judgement.key,
                "good": judgement.good,
                "message": say(f"demo.proof.{judgement.key}", **judgement.values),
            }
            for judgement in report.judgements
        ],
        "letters": [
            {"title": letter.title, "job": letter.about, "signature_verified": letter.verified}
            for letter in report.letters
        ],
        "timeline": [event_document(item) for item in report.events],
    }
