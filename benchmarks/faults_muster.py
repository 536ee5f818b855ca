"""Muster's own answers: the diagnosis and the verdict of production, on the state of a real job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from benchmarks.faults_cases import Case, Labelled
from benchmarks.faults_failure import FIRST_END, failure
from benchmarks.faults_policies import BUDGET, Answer, Policy, Side
from muster.domain import facts as f
from muster.domain.diagnosis import Blame, Diagnosis
from muster.domain.evolve import evolve
from muster.domain.faults import Faults
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Failure
from muster.fault_tolerance.core.rules import Rulebook
from muster.fault_tolerance.core.verdict import judge

DECIDED_AFTER = timedelta(seconds=12)
"""The settle window, and a little."""
_SIDES: dict[Blame, Side] = {
    Blame.USER: "user",
    Blame.DATA: "user",
    Blame.FRAMEWORK: "framework",
    Blame.UNKNOWN: "unknown",
}


def muster(book: Rulebook) -> Policy:
    """Return the policy that judges with these rules."""
    return lambda labelled: _Muster(labelled, book)


def side_of(blame: Blame) -> Side:
    """Return whose failure it is held to be, coarsely."""
    return "infrastructure" if blame.infrastructure else _SIDES[blame]


def _spec(case: Case) -> JobSpec:
    values = {
        "name": "train",
        "image": "registry.lab.example/train:1",
        "command": ["bash", "run.sh"],
        "resource": {"replicas": case.workers, "gpus_per_replica": 8},
        "fault_tolerance": {
            "enabled": True,
            "max_retries": BUDGET,
            "hang": {"action": "restart", "window_s": 1800},
        },
        "checkpoint_dir": case.checkpoint_dir,
    }
    return JobSpec.model_validate(values, strict=False)


class _Muster:
    def __init__(self, labelled: Labelled, book: Rulebook) -> None:
        self._labelled = labelled
        self._book = book
        self._begun = FIRST_END - timedelta(seconds=labelled.case.ran_s + 60)
        self._state: JobState | None = None
        self._earlier: tuple[Earlier, ...] = ()

    def __call__(self, nodes: Sequence[str]) -> Answer:
        state = self._failed(self._state or self._submitted(), nodes)
        now = FIRST_END + DECIDED_AFTER
        told = failure(self._labelled, nodes, attempt=state.attempt)
        if self._state is None:
            state = self._remembered(state, told, now)
        fact = judge(
            state, replace(told, faults=state.faults, earlier=self._earlier), self._book, now
        )
        if fact is None or fact.diagnosis is None:
            raise AssertionError(f"{self._labelled.name}: not judged")
        self._state = evolve(state, fact, now)
        self._earlier += (_earlier(fact.diagnosis, nodes, told, now),)
        return _answer(fact, nodes, now)

    def _submitted(self) -> JobState:
        spec = _spec(self._labelled.case)
        fact = f.Submitted(
            tenant="lab",
            job=self._labelled.name,
            user="ann",
            pool="default",
            request=f"r-{self._labelled.name}",
            digest="d",
            spec=spec,
            demand=spec.demand(),
        )
        return evolve(evolve(None, fact, self._begun), f.Admitted(), self._begun)

    def _failed(self, state: JobState, nodes: Sequence[str]) -> JobState:
        """Bring the job onto its nodes and let the attempt fail."""
        happened: list[f.Fact] = []
        if self._state is not None and state.eviction is not None:
            cause = state.eviction.cause
            happened = [
                f.Released(attempt=state.attempt),
                f.Requeued(cause=cause, counted=False),
            ]
        if not happened and self._state is not None:
            attempt = state.attempt
        else:
            attempt = state.attempt + 1
            placed = {node: (f"worker-{n}",) for n, node in enumerate(nodes)}
            happened.append(f.Scheduled(placement=placed))
        happened += [f.Launching(attempt=attempt), f.Started(attempt=attempt)]
        for fact in [*happened, self._end(attempt, nodes)]:
            state = evolve(state, fact, self._begun)
        return state

    def _end(self, attempt: int, nodes: Sequence[str]) -> f.Fact:
        case = self._labelled.case
        if case.hung is not None:
            return f.Hung(evidence=("no new step",), seconds=case.hung)
        failures = tuple(
            f.WorkerFailure(
                worker=f"worker-{n}",
                node=nodes[n],
                exit_code=case.end_of(n).exit,
                cause=case.end_of(n).cause,
            )
            for n in range(case.workers)
            if not case.end_of(n).alive
        )
        return f.WorkersFailed(attempt=attempt, failures=failures)

    def _remembered(self, state: JobState, told: Failure, now: datetime) -> JobState:
        """Give the job the history that the case says it has."""
        before = self._labelled.case.before
        if before is None:
            return state
        found = diagnose(told, self._book, now)
        rows = [tuple(f"b{n}-{w.node}" for w in told.workers) for n in range(before.times)]
        self._earlier = tuple(
            Earlier(found.fingerprint, found.rule, row, None, told.step or 0, now - ago)
            for row, ago in zip(rows, _agos(before.ago_s, before.times), strict=True)
        )
        known = Faults(
            fingerprint=found.fingerprint,
            count=before.times,
            step=told.step or 0,
            nodes=rows[-1],
            disjoint=before.times > 1,
        )
        paid = "hangs" if told.hung is not None else "restarts"
        ledgers = state.ledgers.model_copy(update={paid: before.times})
        return state.model_copy(update={"faults": known, "ledgers": ledgers})


def _earlier(found: Diagnosis, nodes: Sequence[str], told: Failure, now: datetime) -> Earlier:
    return Earlier(found.fingerprint, found.rule, tuple(nodes), found.node, told.step or 0, now)


def _agos(first_s: int, times: int) -> list[timedelta]:
    return [timedelta(seconds=first_s * (times - n) / times) for n in range(times)]


def _number(node: str, nodes: Sequence[str]) -> int | None:
    return nodes.index(node) if node in nodes else None


def _numbers(names: Sequence[str], nodes: Sequence[str]) -> tuple[int, ...]:
    found = (_number(name, nodes) for name in names)
    return tuple(number for number in found if number is not None)


def _ledger(fact: f.Judged) -> str:
    match fact:
        case f.Restarted():
            return "infrastructure" if fact.infrastructure else "hang" if fact.hang else "user"
        case f.ReplacementOrdered():
            if fact.infrastructure:
                return "infrastructure"
            return "user" if fact.restart else "hang" if fact.hang else "none"
        case _:
            return "none"


def _answer(fact: f.Judged, nodes: Sequence[str], now: datetime) -> Answer:
    found = fact.diagnosis
    assert found is not None
    again = isinstance(fact, f.Restarted | f.ReplacementOrdered)
    until = fact.not_before if isinstance(fact, f.Restarted | f.ReplacementOrdered) else None
    avoid = fact.avoid if isinstance(fact, f.ReplacementOrdered) else ()
    return Answer(
        again=again,
        avoid=_numbers(avoid, nodes),
        nodes=_numbers(found.nodes, nodes),
        wait_s=max(0.0, (until - now).total_seconds()) if until else 0.0,
        holds=isinstance(fact, f.Restarted),
        side=side_of(found.blame),
        ledger=_ledger(fact),
        field=found.advice.field if found.advice else None,
        rule=found.rule,
    )
