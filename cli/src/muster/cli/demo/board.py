"""What a person sees while the demo runs: plain lines, or a live picture on a terminal.

Both are told the same; neither decides anything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from muster.cli import output
from muster.cli.demo.evidence import Point
from muster.cli.demo.script import STEPS
from muster.cli.texts import say
from muster.cli.views.states import shown
from muster.cli.views.timeline import event_of
from muster.cli.words import plain
from muster.domain.state import JobState
from muster.log import Recorded

STORY_EVENTS = frozenset(
    {"admitted", "scheduled", "started", "preempted", "signalled", "released", "requeued"}
    | {"succeeded", "failed", "workers_failed", "requeue_exhausted", "not_requeued"}
)
"""Events that are told; the timeline at the end has them all."""

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_EVERY = 20


class Board(Protocol):
    """Who shows the story."""

    def say(self, key: str, **values: object) -> None:
        """Tell a step of the story: the text `demo.say.<key>`."""

    def words(self, key: str) -> str:
        """Return the text `demo.<key>`."""

    def on_event(self, item: Recorded) -> None:
        """Something was recorded."""

    def on_step(self, attempt: int, point: Point) -> None:
        """A step was reported."""

    def on_wait(self, words: str) -> None:
        """Why the training waits."""


def event_words(item: Recorded) -> Text:
    """Return one event in a few words."""
    state = item.job
    nodes = say("demo.on", nodes=", ".join(state.held)) if state.held else ""
    words = say("demo.event", name=plain(state.name), run=state.attempt, entry=state.queue_entry)
    return Text.assemble((words, "bold"), " ", shown(state), nodes, (f"  {event_of(item)}", "dim"))


class PlainBoard:
    """One line for each thing: for pipes, logs and CI."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def _line(self, text: Text | str) -> None:
        output.line((f"{time.monotonic() - self._began:5.1f}s  ", "dim"), text, stderr=True)

    def say(self, key: str, **values: object) -> None:
        """See `Board`."""
        self._line(Text(f"» {say(f'demo.say.{key}', **values)}", "bold cyan"))

    def words(self, key: str) -> str:
        """See `Board`."""
        return say(f"demo.{key}")

    def on_event(self, item: Recorded) -> None:
        """See `Board`."""
        if event_of(item) in STORY_EVENTS:
            self._line(Text.assemble("  ", event_words(item)))

    def on_step(self, attempt: int, point: Point) -> None:
        """See `Board`; not every step."""
        if point.step % PLAIN_EVERY == 0 or point.step == STEPS:
            self._line(f"    {step_words(attempt, point)}")

    def on_wait(self, words: str) -> None:
        """See `Board`."""
        self._line(Text(f"    {words}", "yellow"))


def step_words(attempt: int, point: Point) -> str:
    """Return one reported step."""
    loss = f"{point.loss:.4f}"
    return say("demo.step", run=attempt, step=point.step, steps=STEPS, loss=loss)


class LiveBoard(PlainBoard):
    """A picture that changes: the story so far, the jobs, and the loss as a curve."""

    def __init__(self) -> None:
        super().__init__()
        self._story: list[Text] = []
        self._jobs: dict[str, JobState] = {}
        self._points: list[tuple[int, Point]] = []
        self._why = ""

    def _line(self, text: Text | str) -> None:
        at = f"{time.monotonic() - self._began:5.1f}s  "
        self._story.append(Text.assemble((at, "dim"), text))

    def on_event(self, item: Recorded) -> None:
        """See `Board`."""
        self._jobs[item.job.job] = item.job
        self._why = ""
        super().on_event(item)

    def on_step(self, attempt: int, point: Point) -> None:
        """See `Board`."""
        self._points.append((attempt, point))

    def on_wait(self, words: str) -> None:
        """See `Board`."""
        self._why = words
        super().on_wait(words)

    def __rich__(self) -> RenderableType:
        """Return the picture as it is now."""
        parts: list[RenderableType] = [*self._story]
        if self._jobs:
            parts.append(Panel(self._table(), title=say("demo.jobs"), title_align="left"))
        if self._points:
            parts.append(self._curve())
        return Group(*parts)

    def _table(self) -> Table:
        made = Table.grid(padding=(0, 2, 0, 0))
        for state in self._jobs.values():
            nodes = ", ".join(state.held) or "-"
            run = say("demo.run", run=state.attempt, entry=state.queue_entry)
            made.add_row(Text(plain(state.name), "bold"), shown(state), run, nodes)
        return made

    def _curve(self) -> Text:
        attempt, last = self._points[-1]
        top = max(point.loss for _, point in self._points) or 1.0
        line = Text("  ")
        for run, point in self._points[-60:]:
            height = min(len(BLOCKS) - 1, int(point.loss / top * len(BLOCKS)))
            line.append(BLOCKS[height], "green" if run == 1 else "cyan")
        return line.append(f"  {step_words(attempt, last)}")


@contextmanager
def shown_board() -> Iterator[Board]:
    """Have the board that suits where the output goes."""
    if not sys.stderr.isatty():
        yield PlainBoard()
        return
    board = LiveBoard()
    with Live(board, console=output.console(stderr=True), refresh_per_second=8):
        yield board
