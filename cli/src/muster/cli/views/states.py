"""How states, events and reasons look: a colour and a word each."""

from __future__ import annotations

from rich.text import Text

from muster.cli.texts import language, pick
from muster.cli.words import plain
from muster.domain.phases import SHOWN_TEXT, Shown
from muster.domain.reasons import Reason
from muster.domain.state import JobState

STYLES: dict[Shown, str] = {
    Shown.SUBMITTED: "blue",
    Shown.REJECTED: "red",
    Shown.QUEUED: "blue",
    Shown.STARTING: "cyan",
    Shown.RESTARTING: "cyan",
    Shown.RUNNING: "green",
    Shown.HANDLING_FAULT: "yellow",
    Shown.EVICTING: "magenta",
    Shown.STOPPING: "yellow",
    Shown.DEBUG_HOLDING: "cyan",
    Shown.ABNORMAL: "bold yellow",
    Shown.STOPPED: "dim",
    Shown.SUCCEEDED: "bold green",
    Shown.FAILED: "bold red",
}

_LOUD = {
    "preempted": "magenta",
    "released": "magenta",
    "requeued": "blue",
    "admitted": "blue",
    "scheduled": "cyan",
    "launching": "cyan",
    "started": "green",
    "succeeded": "bold green",
    "failed": "bold red",
    "resume_verified": "green",
    "progress_lost": "bold red",
    "rejected": "red",
    "declined": "bold red",
    "not_requeued": "bold red",
    "workers_failed": "red",
    "start_failed": "red",
    "start_refused": "red",
    "release_overdue": "red",
    "hung": "red",
    "escalated": "bold yellow",
    "queue_timed_out": "bold yellow",
    "requeue_exhausted": "bold yellow",
    "reclaiming": "magenta",
    "lost": "red",
    "fenced": "yellow",
    "cordoned": "yellow",
    "drained": "yellow",
    "suspected": "magenta",
    "excluded": "red",
    "readmitted": "green",
    "joined": "green",
    "uncordoned": "green",
    "reclaim_lapsed": "green",
}


def shown(state: JobState) -> Text:
    """Return the word of a job's displayed state, coloured."""
    return Text(pick(SHOWN_TEXT[state.shown]), STYLES[state.shown])


def event_style(event: str) -> str:
    """Return the colour of an event."""
    return _LOUD.get(event, "")


def reason_text(reason: Reason | None) -> str:
    """Return the sentence of a reason, "" for none."""
    return plain(reason.text(language())) if reason is not None else ""
