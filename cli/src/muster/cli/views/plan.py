"""What the scheduler answers: why a job waits, what would help, where it would go, who would leave.

Every answer ends with what it is based on: a place of the log, an instant, a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from muster.cli.texts import language, say
from muster.cli.views.stability import outlook_text
from muster.cli.words import cause_words, clock, plain, span
from muster.contracts.queries import QueryAnswer
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.usage import CARD
from muster.domain.waiting import Explanation, Fit, FitOutcome, Help, Victim, WhyCode
from muster.domain.waiting_words import spoken

MOST_NODES = 8
MOST_WORKERS = 4
MOST_VICTIMS = 12


def told_lines(state: JobState, answer: QueryAnswer | None) -> Iterator[Text]:
    """Yield what an answer adds to the explanation of a job; that there is none, too."""
    if answer is None:
        if not state.terminal:
            yield Text(say("plan.nobody"), "yellow")
        return
    if answer.explanation is not None:
        yield from _help_lines(answer.explanation)
    if answer.fit is not None and answer.fit.outcome is FitOutcome.PLACED:
        yield from _placed_lines(answer.fit)
    yield basis(answer)


def answer_lines(answer: QueryAnswer, name: str | None = None) -> Iterator[Text]:
    """Yield a whole answer. name: of the job that was only tried."""
    for violation in answer.violations:
        yield Text(f"{violation.path} {violation.text(language())} [{violation.code}]", "red")
    fit = answer.fit
    explained = answer.explanation or (fit.explanation if fit else None)
    if name is not None and fit is not None:
        words = say(f"plan.{fit.outcome.value}", name=plain(name), workers=fit.workers)
        yield Text(words, "bold")
    if fit is not None and fit.outcome is FitOutcome.PLACED:
        yield from _placed_lines(fit)
    elif explained is not None:
        yield Text(say("explain.because", why=because(explained, answer.pool)))
        yield from _help_lines(explained)
    yield basis(answer)


def because(explained: Explanation, pool: str) -> str:
    """Return the sentence of a reason, with its code and where to look first."""
    why = explained.why
    words = why.text(language())
    if explained.phase is Phase.QUEUED and why.code != WhyCode.SUPPOSED_GONE:
        words = spoken(why, pool).text(language())
    tier = say(f"tier.{why.tier.value}")
    return plain(f"{words} [{why.code}, {tier}]")


def basis(answer: QueryAnswer) -> Text:
    """Return what an answer is based on."""
    known = {"pool": answer.pool, "position": answer.position, "at": clock(answer.at)}
    if answer.round is None:
        return Text(say("plan.basis.no_round", **known), "dim")
    return Text(say("plan.basis", **known, round=answer.round), "dim")


# --- why not -----------------------------------------------------------------------------------


def _help_lines(explained: Explanation) -> Iterator[Text]:
    for each in explained.helps:
        yield Text(say("plan.help", what=_help(each)))
    shown = explained.nodes[:MOST_NODES]
    for note in shown:
        yield Text(f"  {plain(note.text(language()))}", "dim")
    more = sum(explained.node_counts.values()) - len(shown)
    if more > 0:
        counted = say("comma").join(f"{code} {n}" for code, n in explained.node_counts.items())
        yield Text(say("plan.more_nodes", count=more, counted=counted), "dim")
    if explained.estimate is not None:
        yield Text(say("plan.estimate", when=plain(explained.estimate.text(language()))))


def _help(each: Help) -> str:
    words = plain(each.text(language()))
    return say("plan.proven", what=words) if each.proven else words


# --- where, and at whose cost ------------------------------------------------------------------


def _placed_lines(fit: Fit) -> Iterator[Text]:
    nodes = list(fit.placement.items())
    for node, workers in nodes[:MOST_NODES]:
        yield Text(f"  {plain(node)}: {_workers(workers)}")
    if len(nodes) > MOST_NODES:
        yield Text(say("plan.more_placed", count=len(nodes) - MOST_NODES), "dim")
    for victim in fit.victims[:MOST_VICTIMS]:
        yield Text(_victim(victim), "magenta")
    if len(fit.victims) > MOST_VICTIMS:
        yield Text(say("plan.more_victims", count=len(fit.victims) - MOST_VICTIMS), "magenta")
    if fit.wait_s or fit.leaving:
        yield Text(say("plan.wait", span=span(fit.wait_s), jobs=", ".join(fit.leaving)))
    if fit.outlook is not None:
        yield Text(say("plan.outlook", outlook=outlook_text(fit.outlook)))


def _workers(names: Sequence[str]) -> str:
    if len(names) <= MOST_WORKERS:
        return ", ".join(names)
    return say("plan.workers", count=len(names), first=names[0], last=names[-1])


def _victim(victim: Victim) -> str:
    key = "plan.hold_taken" if victim.cause is None else "plan.victim"
    return say(
        key,
        name=plain(victim.name),
        job=victim.job,
        user=plain(victim.user),
        cause=cause_words(victim.cause or ""),
        gpus=f"{victim.gpus + victim.gpu_milli / CARD:g}",
        hours=f"{victim.lost_gpu_s / 3600:.1f}",
    )
