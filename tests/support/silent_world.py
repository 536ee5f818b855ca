"""A world with fault tolerance alone: jobs that run, and a scripted executor that tells of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from muster.bus import NobodyAnswers, Question, Responder
from muster.bus.topology import EXECUTOR_EVIDENCE
from muster.contracts import subjects
from muster.contracts.evidence import EVIDENCE_QUESTIONS, AskFailure, AskSignals, Signals, pack
from muster.contracts.fault_questions import AskHang, HangAnswer
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.edges import Owner
from muster.domain.evidence import FailureEvidence, JobSignals, WorkerEvidence
from muster.domain.incidents import (
    Incident,
    IncidentClosed,
    IncidentKind,
    IncidentOpened,
    incident_id,
)
from muster.domain.state import JobState
from muster.fault_tolerance import service as fault_tolerance
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.log import Recorded
from muster.log.memory import MemoryLog
from muster.runtime.journal import Journal
from muster.runtime.service import Service
from muster.testing.cluster import shape
from muster.testing.databases import in_memory
from muster.testing.process import ServicePlan
from muster.testing.steady import advance
from muster.testing.virtual_time import ProcessClock
from muster.testing.world import World
from tests.support.lives import spec

T = TypeVar("T")
Tells = Callable[[int, float, bool], JobSignals | None]
"""Signs of an attempt at a second after it began; stacks: they were asked for."""
POOL, TENANT, POLL_S = "default", "acme", 15.0


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("it waits for something")


class SilentWorld:
    """tells: what the executor says; away: it does not answer; slow: not when stacks are asked for.
    asked: every question to it."""

    def __init__(
        self, tells: Tells, *, replicas: int = 1, settings: FaultToleranceSettings | None = None
    ) -> None:
        self.tells, self.away, self.output = tells, False, "epoch 1\nPULSE\n"
        self.slow = False
        self.asked: list[AskSignals | AskFailure] = []
        self.began: dict[str, float] = {}
        settings = settings or FaultToleranceSettings()

        def executor(runtime: object, hooks: object) -> Service:
            desk = Responder(EXECUTOR_EVIDENCE, self._answer)
            return Service(Owner.EXECUTOR, responders=(desk,))

        plans = [
            ServicePlan("executor", executor),
            ServicePlan(
                "fault-tolerance",
                lambda runtime, hooks: fault_tolerance.build(runtime, settings),
                replicas,
                in_memory,
            ),
        ]
        self.world = World(1, plans)
        self.world.mood.hurried = True
        self.world.idle_s = POLL_S
        log, clock = MemoryLog(self.world.store), ProcessClock(self.world.time, self.world.store)
        self._pens = {owner: Journal(owner, log, clock, self.world.new_id) for owner in Owner}

    # --- what there is -------------------------------------------------------------------------

    def node(self, name: str, *facts: tuple[Owner, n.NodeFact], **of: object) -> None:
        """Let a node join, or let something happen to it. of: its shape."""
        joined = n.NodeJoined(pool=POOL, node=name, cluster="local", shape=shape(**of))  # type: ignore[arg-type]
        key, pen = subjects.node_key(POOL, name), self._pens[Owner.EXECUTOR]
        for owner, fact in facts or ((Owner.EXECUTOR, joined),):
            last = _at_once(pen.log.last(key))
            _at_once(pen.record(self._pens[owner].about_node(last, fact)))
        self.world.activity += 1

    def running(self, job: str = "j1", *, workers: int = 1, **more: Any) -> None:
        """Let a job run, a worker on each of n0, n1 ..."""
        hang = more.pop("hang", {"action": "notify", "window_s": 600})
        tolerant = {"enabled": True, "max_retries": 3, "hang": hang} | more.pop("tolerant", {})
        wanted = spec(fault_tolerance=tolerant, **more)
        wanted = wanted.model_copy(
            update={"resource": wanted.resource.model_copy(update={"replicas": workers})}
        )
        submitted = f.Submitted(
            tenant=TENANT,
            job=job,
            user="ann",
            pool=POOL,
            request=f"r-{job}",
            digest="0" * 64,
            spec=wanted,
            demand=wanted.demand(),
        )
        pen = self._pens[Owner.ADMISSION]
        first = pen.about_job(None, submitted)
        _at_once(pen.record_all([first, pen.about_same_job(first, f.Admitted())]))
        placement = {f"n{rank}": (f"worker-{rank}",) for rank in range(workers)}
        self.then(job, Owner.SCHEDULER, f.Scheduled(placement=placement))
        self.starts(job)

    def starts(self, job: str = "j1") -> None:
        """Let the present attempt start."""
        attempt = self.state(job).attempt
        self.then(job, Owner.EXECUTOR, f.Launching(attempt=attempt))
        self.then(job, Owner.EXECUTOR, f.Started(attempt=attempt))
        self.began[job] = self.world.time.elapsed

    def then(self, job: str, owner: Owner, fact: f.Fact) -> None:
        """Let something happen to a job."""
        pen = self._pens[owner]
        _at_once(pen.record(pen.about_job(self._last(job), fact)))
        self.world.activity += 1

    def _last(self, job: str) -> Recorded:
        last = _at_once(self._pens[Owner.ADMISSION].job(TENANT, job))
        assert isinstance(last, Recorded)
        return last

    def state(self, job: str = "j1") -> JobState:
        """Return a job as it stands."""
        return self._last(job).job

    def facts(self, kind: type[f.Fact], job: str = "j1") -> list[Any]:
        """Return what of this kind stands in the log."""
        prefix = f"jobs.{TENANT}.{job}.{kind.event}"
        entries = [entry for entry in self.world.store.entries if entry.subject == prefix]
        return [entry.event.data.detail for entry in entries if entry.event is not None]

    def incident(self, kind: IncidentKind, name: str, *, over: bool = False) -> None:
        """Let an incident begin, or end."""
        pen, at = self._pens[Owner.FAULT_TOLERANCE], self.world.time.now()
        one = Incident(
            id=incident_id(kind, name),
            kind=kind,
            name=name,
            opened_at=at,
            last_at=at,
            closed_at=at if over else None,
        )
        fact = IncidentClosed(incident=one) if over else IncidentOpened(incident=one)
        last = _at_once(pen.log.last(subjects.incident_key(one.id)))
        _at_once(pen.record(pen.about_incident(last, fact)))
        self.world.activity += 1

    # --- what goes on --------------------------------------------------------------------------

    def go(self, seconds: float) -> None:
        """Let time pass; something always happens, so that loops turn as often as they would."""
        end = self.world.time.elapsed + seconds
        while self.world.time.elapsed < end:
            self.world.activity += 1
            advance(self.world, min(POLL_S, end - self.world.time.elapsed))

    def hang(self, job: str = "j1") -> HangAnswer:
        """Ask fault tolerance about a job."""
        subject = subjects.fault_subject(POOL, "hang")
        found = self.world.bus.who_answers(subject)
        body = AskHang(tenant=TENANT, job=job).model_dump_json().encode()
        work = found[0].answer(Question(subject, body))
        assert isinstance(work, Coroutine)
        raw: bytes = _at_once(work)
        return HangAnswer.model_validate_json(raw)

    async def _answer(self, question: Question) -> bytes:
        kind = subjects.parse(question.subject).event
        if self.away or (self.slow and b'"stacks":true' in question.body):
            raise NobodyAnswers(question.subject, 10.0)
        asked = EVIDENCE_QUESTIONS[kind].model_validate_json(question.body)
        assert isinstance(asked, AskSignals | AskFailure)
        self.asked.append(asked)
        if isinstance(asked, AskFailure):
            return pack(self._output(asked))
        told = (self._told(ref.job, ref.attempt, asked.stacks) for ref in asked.jobs)
        return pack(Signals(jobs=tuple(each for each in told if each is not None)))

    def _told(self, job: str, attempt: int, stacks: bool) -> JobSignals | None:
        passed = self.world.time.elapsed - self.began[job]
        told = self.tells(attempt, passed, stacks)
        return told and told.model_copy(update={"job": job, "attempt": attempt})

    def _output(self, asked: AskFailure) -> FailureEvidence:
        """Answer about a failure; other worlds tell more."""
        workers = tuple(
            WorkerEvidence(worker=name, node="n0", rank=0, alive=True, tail=self.output)
            for name in asked.tails
        )
        names = {"tenant": asked.tenant, "job": asked.job, "attempt": asked.attempt}
        return FailureEvidence.model_validate({**names, "workers": workers})
