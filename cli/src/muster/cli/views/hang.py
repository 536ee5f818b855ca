"""What hang detection makes of a job: which families say what, since when, and the limits."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from muster.cli.texts import say
from muster.cli.views.states import shown
from muster.cli.words import plain, span
from muster.contracts.fault_questions import FamilySays, HangAnswer
from muster.domain.state import JobState

_PHASES = {"checkpoint", "evaluation", "loading", "compile"}


def hang_lines(state: JobState, answer: HangAnswer) -> Iterator[Text]:
    """Yield the sentences, the answer first."""
    name = plain(state.name)
    if answer.unarmed == "off":
        yield Text(say("hang.off", name=name))
        return
    if answer.unarmed is not None:
        why = say(f"hang.unarmed.{answer.unarmed}", phase=shown(state).plain)
        yield Text(say("hang.unarmed", name=name, why=why))
        return
    if answer.watched_s is None:
        yield Text(say("hang.unseen", name=name, attempt=answer.attempt))
        return
    mode = "hang.restart" if answer.restart else "hang.notify"
    yield Text(say(mode, name=name, attempt=answer.attempt), "bold")
    if answer.suspected:
        yield Text(_suspected(answer), "red")
    if answer.doubtful:
        yield Text(say("hang.doubtful"), "yellow")
    yield from _silence(answer)
    for said in answer.families:
        yield Text(f"  {_family(said)}")
    yield from _limits(answer)


def _suspected(answer: HangAnswer) -> str:
    if answer.worker is None:
        return say("hang.suspected")
    return say("hang.suspected_worker", worker=plain(answer.worker))


def _silence(answer: HangAnswer) -> Iterator[Text]:
    limits = {"silent": span(answer.silent_s), "limit": span(answer.limit_s)}
    yield Text(say("hang.silence", stage=_stage(answer.stage, answer.step), **limits))
    if not answer.proven:
        yield Text(say("hang.unproven"))


def _stage(stage: str, step: int | None = None) -> str:
    if stage in {"training", "first_step"}:
        return say(f"hang.stage.{stage}", step=step)
    return say(f"hang.stage.{stage}") if stage in _PHASES else plain(stage)


def _family(said: FamilySays) -> str:
    why = say(f"hang.why.{said.why}") if said.why else ""
    match said.sign:
        case "still":
            words = say("hang.still", span=span(said.seconds), why=why)
        case "moving":
            words = say("hang.moving_why", why=why) if why else say("hang.moving")
        case _:
            words = say("hang.unknown")
    if said.worker is not None:
        words = say("hang.who", said=words, worker=plain(said.worker))
    return say("hang.family", family=say(f"hang.family.{said.family}"), sign=words)


def _limits(answer: HangAnswer) -> Iterator[Text]:
    window, contradicted = span(answer.window_s), span(answer.contradicted_s)
    yield Text(say("hang.rule", window=window, contradicted=contradicted), "dim")
    learned = [say("hang.learned", p99=span(answer.p99_s))] if answer.p99_s is not None else []
    for stage, seconds in sorted(answer.longest.items()):
        learned.append(say("hang.longest", stage=_stage(stage), span=span(seconds)))
    if learned:
        yield Text(say("comma").join(learned), "dim")
    yield Text(say("hang.watched", span=span(answer.watched_s or 0.0)), "dim")
