"""Whether a training that runs again really went on: lines in, observations, a verdict out.

Pure: no file, no clock. `Summary` is what one worker's output of one attempt told, however it was
cut into pieces; `Stay` is one earlier attempt, from its output and from the facts on the log;
`judge` compares. `muster.executor.resuming` feeds it and writes what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from muster.domain import facts as f
from muster.domain.state import JobState
from muster.executor.core.declared import Declared
from muster.executor.core.lines import LINE, Kind, Reader, Told, shown, trust

COUNTERS = 16
"""Counters that are remembered of one worker; further ones are progress bars of something else."""

APART = timedelta(seconds=60)
"""Between two facts about saved checkpoints of one job."""


class Splitter:
    """Cuts output into lines, wherever its pieces were cut; a bar ends its line with \\r."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> list[str]:
        """Return the lines that are whole now, each as far as a line is read at all."""
        *whole, rest = piece.replace("\r", "\n").split("\n")
        lines = []
        for each in whole:
            lines.append((self._rest + each)[:LINE])
            self._rest = ""
        self._rest = (self._rest + rest)[:LINE]
        return [line for line in lines if line]


@dataclass(frozen=True, slots=True)
class Span:
    """The first and the last step of one counter. over: the counter came to its end."""

    first: int
    last: int
    over: bool = False
    line: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What the output of an attempt told so far.

    loaded: a checkpoint was; loaded_step: the highest that was named. saved: the last one.
    declared: the phase without steps that it says it is in; declarations: how many began so far.
    Summaries of workers are added up in any order.
    """

    loaded: bool = False
    loaded_step: int | None = None
    loaded_line: str = ""
    saved: int | None = None
    saved_line: str = ""
    steps: Mapping[str, Span] = field(default_factory=dict)
    declared: Declared | None = None
    declarations: int = 0

    def then(self, told: Told, line: str) -> Summary:
        """Return the summary after one more line of the same worker."""
        match told.kind:
            case Kind.LOADED:
                return self._loads(told.step, line)._over(Declared.LOADING)
            case Kind.SAVED:
                saved = replace(self, saved=told.step, saved_line=shown(line))
                return saved._over(Declared.CHECKPOINT)
            case Kind.STEP:
                after = self._steps(told, line)
                return after._over(self.declared) if self._goes_on(told) else after

    def declares(self, declared: Declared) -> Summary:
        """Return the summary after a phase began, or ended; one that is declared again goes on."""
        if declared is Declared.OVER:
            return self._over(self.declared)
        if declared is self.declared:
            return self
        return replace(self, declared=declared, declarations=self.declarations + 1)

    def _over(self, phase: Declared | None) -> Summary:
        return replace(self, declared=None) if phase and self.declared is phase else self

    def _goes_on(self, told: Told) -> bool:
        """Whether this is a new step of the best counter: only that ends a declared phase."""
        best = min(map(trust, self.steps), default=trust(told.counter))
        before = self.steps.get(told.counter)
        new = before is None or (told.step or 0) > before.last
        return new and trust(told.counter) <= best

    def _loads(self, step: int | None, line: str) -> Summary:
        if self.loaded and _less(step, self.loaded_step):
            return self
        return replace(self, loaded=True, loaded_step=step, loaded_line=shown(line))

    def _steps(self, told: Told, line: str) -> Summary:
        step = told.step or 0
        before = self.steps.get(told.counter)
        if before is None and len(self.steps) >= COUNTERS:
            return self
        if before is None:
            span = Span(step, step, told.over, shown(line))
        else:
            over = before.over or told.over
            span = Span(before.first, max(before.last, step), over, before.line)
        return replace(self, steps={**self.steps, told.counter: span})

    def __add__(self, other: Summary) -> Summary:
        """Return what two workers told together."""
        a, b = self, other
        if _less(a.loaded_step, b.loaded_step) or not a.loaded:
            a, b = b, a
        saved = self if not _less(self.saved, other.saved) else other
        return Summary(
            loaded=a.loaded,
            loaded_step=a.loaded_step,
            loaded_line=a.loaded_line,
            saved=saved.saved,
            saved_line=saved.saved_line,
            steps=_joined(self.steps, other.steps),
            declared=self.declared or other.declared,
            declarations=self.declarations + other.declarations,
        )

    @property
    def silent(self) -> bool:
        """Whether nothing was told at all."""
        return not self.loaded and self.saved is None and not self.steps


def _less(step: int | None, other: int | None) -> bool:
    return (-1 if step is None else step) < (-1 if other is None else other)


def _joined(one: Mapping[str, Span], other: Mapping[str, Span]) -> dict[str, Span]:
    joined = dict(one)
    for counter, span in other.items():
        mine = joined.get(counter)
        if mine is None:
            joined[counter] = span
        else:
            first = min(mine, span, key=lambda each: (each.first, each.line))
            last, over = max(mine.last, span.last), mine.over or span.over
            joined[counter] = Span(first.first, last, over, first.line)
    return joined


def summarise(lines: Iterable[str], reader: Reader, before: Summary | None = None) -> Summary:
    """Return the summary of one worker after these lines."""
    summary = before or Summary()
    for line in lines:
        told = reader.read(line)
        if told is not None:
            summary = summary.then(told, line)
        declared = reader.declared(line) if told is None else None
        if declared is not None:
            summary = summary.declares(declared)
    return summary


def total(summaries: Iterable[Summary]) -> Summary:
    """Return what all workers of an attempt told."""
    return sum(summaries, Summary())


@dataclass(frozen=True, slots=True)
class Stay:
    """An earlier attempt. began, ended: while its workers ran. saved: (step, heard of at)."""

    attempt: int
    told: Summary
    began: datetime | None = None
    ended: datetime | None = None
    saved: tuple[tuple[int, datetime], ...] = ()

    @property
    def checkpoint(self) -> int | None:
        """The last checkpoint that was saved in it."""
        steps = [step for step, _ in self.saved]
        if self.told.saved is not None:
            steps.append(self.told.saved)
        return max(steps, default=None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """kept: the training went on. The rest: as in the facts `resume_verified`, `progress_lost`."""

    kept: bool
    step_before: int
    step_after: int
    checkpoint: int | None
    gpu_hours: float
    line: str


def judge(past: Sequence[Stay], now: Summary, state: JobState, *, waited: bool) -> Verdict | None:
    """Return the verdict on the state's attempt, or None while there is nothing to say.

    past: earlier attempts, oldest first. waited: whoever would tell of a loaded checkpoint has had
    the time to; without such a line nothing is called lost before.
    """
    counter = _counter(past, now)
    span = now.steps.get(counter) if counter else None
    if span is None:
        return None
    before = _before(past, counter, state)
    if before is None or before < 1:
        return None
    checkpoint = _checkpoint(past, state)
    kept = _kept(past, now, span, counter, checkpoint)
    if not kept and not now.loaded and not waited:
        return None
    point = _point(past, now, span, counter, checkpoint if kept else None)
    seconds = _seconds(past, counter, point)
    return Verdict(
        kept=kept,
        step_before=before,
        step_after=span.first,
        checkpoint=checkpoint,
        gpu_hours=round(seconds * _gpus(state) / 3600, 4),
        line=now.loaded_line or span.line,
    )


def _counter(past: Sequence[Stay], now: Summary) -> str:
    """Choose whose steps are compared: the most trustworthy counter of before.

    A bar that came to its end was of something else. Where no earlier output is left, the
    best counter of now is compared with what the log knows.
    """
    known = {c for stay in past for c in stay.told.steps}
    ended = {c for stay in past for c, span in stay.told.steps.items() if span.over}
    return min(known - ended or now.steps.keys(), key=trust, default="")


def _before(past: Sequence[Stay], counter: str, state: JobState) -> int | None:
    for stay in reversed(past):
        if counter in stay.told.steps:
            return stay.told.steps[counter].last
    return state.progress.step if state.progress else None


def _checkpoint(past: Sequence[Stay], state: JobState) -> int | None:
    for stay in reversed(past):
        if stay.checkpoint is not None:
            return stay.checkpoint
    return state.progress.checkpoint_step if state.progress else None


def _kept(
    past: Sequence[Stay], now: Summary, span: Span, counter: str, checkpoint: int | None
) -> bool:
    """Tell whether the steps go on from the newest checkpoint, or from where the training was."""
    if now.loaded_step is not None:
        return now.loaded_step >= (checkpoint or 0) and span.first >= now.loaded_step > 0
    if checkpoint is not None and span.first < checkpoint:
        return False
    if now.loaded and checkpoint is not None:
        return True
    return not _from_the_start(past, span, counter)


def _from_the_start(past: Sequence[Stay], span: Span, counter: str) -> bool:
    """Whether the first step is one that a fresh training tells first."""
    firsts = [s.told.steps[counter].first for s in past if counter in s.told.steps]
    return span.first <= min(firsts, default=1)


def _point(
    past: Sequence[Stay], now: Summary, span: Span, counter: str, checkpoint: int | None
) -> int:
    """From which step on the work is done again."""
    if now.loaded_step is not None and now.loaded_step <= span.first:
        return now.loaded_step
    if checkpoint is not None:
        return min(checkpoint, span.first)
    return 0 if _from_the_start(past, span, counter) else span.first


def _seconds(past: Sequence[Stay], counter: str, point: int) -> float:
    """Return how long the earlier attempts worked on steps from `point` on.

    Of each only what a later one did not do again already.
    """
    seconds, upto = 0.0, None
    for stay in reversed(past):
        span = stay.told.steps.get(counter)
        if span is None:
            continue
        end = span.last if upto is None else min(upto, span.last)
        seconds += max(0.0, _reached(stay, span, end) - _reached(stay, span, point))
        upto = span.first if upto is None else min(upto, span.first)
    return seconds


def _reached(stay: Stay, span: Span, step: int) -> float:
    """Return how many seconds into an attempt a step was reached.

    Known are its begin, its end and the checkpoints that were heard of; between them the steps are
    taken to be even.
    """
    if stay.began is None or stay.ended is None:
        return 0.0
    length = max(0.0, (stay.ended - stay.began).total_seconds())
    known = [(span.first, 0.0)]
    for saved, at in sorted(stay.saved):
        seconds = (at - stay.began).total_seconds()
        if known[-1][0] < saved < span.last and known[-1][1] <= seconds <= length:
            known.append((saved, seconds))
    known.append((span.last, length))
    return _between(known, step)


def _between(known: Sequence[tuple[int, float]], step: int) -> float:
    if step <= known[0][0]:
        return known[0][1]
    for (low, early), (high, late) in pairwise(known):
        if step <= high:
            return early + (late - early) * (step - low) / max(1, high - low)
    return known[-1][1]


def _gpus(state: JobState) -> float:
    return state.demand.gpus + state.demand.gpu_milli / 1000


def last_step(now: Summary) -> int | None:
    """Return the last step of the most trustworthy counter."""
    best = min(now.steps, key=trust, default=None)
    return now.steps[best].last if best is not None else None


def worth_telling(state: JobState, now: Summary, at: datetime) -> bool:
    """Tell whether a saved checkpoint becomes a fact: a newer one, and not too soon."""
    if now.saved is None:
        return False
    known = state.progress
    if known is None:
        return True
    newer = known.checkpoint_step is None or now.saved > known.checkpoint_step
    return newer and (known.checkpointed_at is None or at - known.checkpointed_at >= APART)


@dataclass(frozen=True, slots=True)
class Happened:
    """A fact of a job's history: which attempt it was in, and when."""

    attempt: int
    fact: f.Fact
    at: datetime


_ENDS = (f.Signalled, f.WorkersFailed, f.Hung, f.Succeeded, f.Released)


def stays(history: Iterable[Happened], told: Mapping[int, Summary], attempt: int) -> list[Stay]:
    """Return the attempts before `attempt`, oldest first: what they told, and when they ran."""
    found = {number: Stay(number, summary) for number, summary in told.items()}
    for each in history:
        stay = found.get(each.attempt, Stay(each.attempt, Summary()))
        match each.fact:
            case f.Started():
                found[each.attempt] = replace(stay, began=stay.began or each.at)
            case f.CheckpointSaved(step=step):
                found[each.attempt] = replace(stay, saved=(*stay.saved, (step, each.at)))
            case fact if isinstance(fact, _ENDS) and stay.began is not None:
                found[each.attempt] = replace(stay, ended=stay.ended or each.at)
    return [found[number] for number in sorted(found) if number < attempt]
