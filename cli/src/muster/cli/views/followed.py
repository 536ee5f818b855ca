"""What a person sees of a job that is followed: lines that are printed as things happen."""

from __future__ import annotations

from rich.text import Text

from muster.cli import output
from muster.cli.texts import say
from muster.cli.views.lines import printed_line
from muster.cli.views.states import event_style, reason_text, shown
from muster.cli.views.timeline import event_document, event_of, what
from muster.cli.words import clock, plain
from muster.domain.state import JobState
from muster.log import Recorded


class PlainWatcher:
    """One line for each event, each reason to wait, each line of output."""

    def on_event(self, item: Recorded) -> None:
        """The time, the state after it, and the sentence."""
        state = item.job
        output.line(
            (clock(item.event.time), "dim"),
            " ",
            shown(state),
            _run(state),
            (f"  {event_of(item)}", event_style(event_of(item))),
            f"  {what(item)}",
        )

    def on_line(self, worker: str, attempt: int, text: str) -> None:
        """The worker's own words."""
        output.line(printed_line(worker, attempt, text))

    def on_wait(self, words: str) -> None:
        """Why it is not running yet."""
        output.line((words, "yellow"))


def _run(state: JobState) -> Text:
    words = say("follow.attempt", attempt=state.attempt) if state.attempt > 1 else ""
    return Text(f" ({words})" if words else "", "dim")


class JsonWatcher:
    """The same as JSON lines; `kind` says which of the three a line is."""

    def on_event(self, item: Recorded) -> None:
        """The whole event."""
        output.record({"kind": "event"} | event_document(item))

    def on_line(self, worker: str, attempt: int, text: str) -> None:
        """One line of output."""
        output.record({"kind": "line", "worker": worker, "attempt": attempt, "line": text})

    def on_wait(self, words: str) -> None:
        """Why it waits."""
        output.record({"kind": "waiting", "why": words})


def end_line(last: JobState, span: str) -> Text:
    """Return how it ended, and why."""
    name = plain(last.name)
    words = say("follow.end", name=name, state="\0", span=span)
    before, _, after = words.partition("\0")
    reason = reason_text(last.reason)
    line = Text.assemble((before, "bold"), shown(last), after)
    return line.append(f": {reason}") if reason else line
