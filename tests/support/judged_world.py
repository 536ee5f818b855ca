"""A world with fault tolerance alone whose jobs fail, and an executor that has evidence of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from muster.contracts.evidence import AskFailure
from muster.domain import facts as f
from muster.domain.deadlines import SETTLE_S
from muster.domain.edges import Owner
from muster.domain.evidence import FailureEvidence, NodeEvidence, WorkerEvidence
from muster.log.memory import LogFault
from muster.testing.steady import advance
from tests.support.silent_world import SilentWorld

VERDICTS = (f.Restarted, f.ReplacementOrdered, f.Failed, f.Escalated)


class JudgedWorld(SilentWorld):
    """evidence: worker -> what the executor has of it. refuses: so many questions are not heard."""

    def __init__(self, **more: Any) -> None:
        super().__init__(lambda attempt, passed, stacks: None, **more)
        self.evidence: dict[str, WorkerEvidence] = {}
        self.nodes: tuple[NodeEvidence, ...] = ()

    def fails(
        self,
        *workers: int,
        code: int | None = 1,
        cause: str = "exited",
        job: str = "j1",
        **more: Any,
    ) -> None:
        """Let workers end, and the executor report the first of them."""
        self.end(*workers, code=code, cause=cause, **more)
        first = workers[0]
        one = f.WorkerFailure(
            worker=f"worker-{first}",
            node=f"n{first}",
            exit_code=code,
            cause=cause,
            ended_at=self.now,
        )
        state = self.state(job)
        fact = f.WorkersFailed(
            attempt=state.attempt,
            failures=(one,),
            settle_s=SETTLE_S if len(state.placed_on) > 1 else 0,
        )
        self.then(job, Owner.EXECUTOR, fact)

    def end(self, *workers: int, code: int | None = 1, tail: str = "", **more: Any) -> None:
        """Let workers end without anybody having reported it yet."""
        for rank in workers:
            values = {"exit_code": code, "tail": tail, "ended_at": self.now, "alive": False} | more
            self.evidence[f"worker-{rank}"] = self._alive(rank).model_copy(update=values)

    @property
    def now(self) -> Any:
        """The instant."""
        return self.world.time.now()

    def after(self, seconds: float) -> None:
        """Let time pass without anything that would wake loops."""
        advance(self.world, seconds)

    def lose_answers(self, share: float) -> None:
        """Let so many of the questions get lost."""
        self.world.mood.faults = {"ask": {LogFault.LOST: share}}  # type: ignore[attr-defined]

    def verdicts(self, job: str = "j1") -> list[f.Judged]:
        """Return what was decided, kind by kind."""
        return [fact for kind in VERDICTS for fact in self.facts(kind, job)]

    def _alive(self, rank: int) -> WorkerEvidence:
        return WorkerEvidence(
            worker=f"worker-{rank}",
            node=f"n{rank}",
            rank=rank,
            alive=True,
            started_at=self.now - timedelta(minutes=5),
        )

    def _output(self, asked: AskFailure) -> FailureEvidence:
        state = self.state(asked.job)
        names = state.demand.workers
        known = [self.evidence.get(name, self._alive(rank)) for rank, name in enumerate(names)]
        return FailureEvidence(
            tenant=asked.tenant,
            job=asked.job,
            attempt=asked.attempt,
            workers=tuple(self._cut(worker, asked) for worker in known),
            nodes=self.nodes,
        )

    @staticmethod
    def _cut(worker: WorkerEvidence, asked: AskFailure) -> WorkerEvidence:
        tail = worker.tail[-asked.tail_bytes :] if worker.worker in asked.tails else ""
        return worker.model_copy(update={"tail": tail})


def failures_of(asked: Iterable[object]) -> list[AskFailure]:
    """Return the questions about failures."""
    return [question for question in asked if isinstance(question, AskFailure)]
