"""`diagnose(failure, book, now)`: whose failure it is, and what should follow. Pure.

    signs (what the rules find) -> ranking (who failed first) -> stages (how far it had come)
    -> choice (which sign is the cause) -> gang (what all show together)
    -> refine (stage, spread, wording) -> history

What nothing explains is `unknown`: tried again on the user's budget, and nobody is excluded for it.
"""

from __future__ import annotations

from datetime import datetime

from muster.domain.diagnosis import Diagnosis, Stage
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View, choose
from muster.fault_tolerance.core.explain import evidence_of
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.fingerprint import fingerprint
from muster.fault_tolerance.core.gang import explained_together
from muster.fault_tolerance.core.history import judged_by_history, past_of
from muster.fault_tolerance.core.ranking import ranked
from muster.fault_tolerance.core.refine import early, refined
from muster.fault_tolerance.core.rules import Rulebook
from muster.fault_tolerance.core.signs import Signs, gather
from muster.fault_tolerance.core.spread import spread_of
from muster.fault_tolerance.core.stages import stage_of


def diagnose(
    failure: Failure, book: Rulebook, now: datetime, signs: Signs | None = None
) -> Diagnosis:
    """Return the judgement. The same failure and the same rules always give the same.

    signs: what the rules find in it, if that was looked up before: reading takes longest.
    """
    return explained(failure, book, now, signs)[0]


def explained(
    failure: Failure, book: Rulebook, now: datetime, signs: Signs | None = None
) -> tuple[Diagnosis, Cause]:
    """Return the judgement and the cause behind it, which has the words for people."""
    view = view_of(failure, book, signs)
    cause = refined(explained_together(choose(view), view), view)
    print_of = fingerprint(*_named_by(view, cause), view.stage)
    past = past_of(view, print_of, telling=_is_telling(view, cause))
    cause, history = judged_by_history(cause, view, past)
    found = Diagnosis(
        rule=cause.rule,
        rules=book.version,
        blame=cause.blame,
        kind=cause.kind,
        action=cause.action,
        stage=view.stage or Stage.INIT,
        spread=spread_of(view, cause),
        first=cause.worker or (view.first.worker if view.first else None),
        node=cause.node,
        nodes=cause.nodes,
        fingerprint=print_of,
        confidence=round(min(cause.confidence, 0.99), 2),
        evidence=evidence_of(cause, view, history),
        advice=cause.advice,
        gpu_hours=_lost(failure),
        step=failure.step,
        incident=failure.elsewhere.incident,
        shadow=view.signs.shadow,
    )
    return found, cause


def view_of(failure: Failure, book: Rulebook, signs: Signs | None = None) -> View:
    """Join everything: what was found, in which order, at which stage."""
    signs = signs or gather(failure, book)
    order = ranked(failure, signs)
    return View(failure, book, signs, order, stage_of(failure, order))


def _named_by(view: View, cause: Cause) -> tuple[str | None, str]:
    """Return rule and output that name a failure; its exit where no rule knows it."""
    worker = _worker(view, cause)
    if worker is None or cause.rule is not None:
        return cause.rule, worker.tail if worker else ""
    return f"{worker.cause}.{worker.exit_code}", worker.tail


def _worker(view: View, cause: Cause) -> WorkerEvidence | None:
    return next((w for w in view.order if w.worker == cause.worker), view.first)


def _is_telling(view: View, cause: Cause) -> bool:
    """Tell whether the failure's name says more than that it ended.

    What no rule knows ends in some line of its steps wherever it dies, unless it never made one.
    """
    worker = _worker(view, cause)
    said = worker is not None and bool(worker.tail.strip())
    return cause.rule is not None or (said and early(view))


def _lost(failure: Failure) -> float:
    """Return GPU hours of work that no checkpoint holds."""
    unsaved = failure.unsaved_s if failure.unsaved_s is not None else failure.ran_s
    return round(failure.gpus * (unsaved or 0.0) / 3600, 3)
