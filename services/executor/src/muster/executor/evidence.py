"""Answers what is known of a failed attempt, and which signs of life running ones show.

Read afresh at each question and never kept. Output and messages pass through `core.masking`: what
is answered may end up in an event. An answer is bounded: tails are cut until it can be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from pydantic import ValidationError

from muster.bus import Question
from muster.contracts.evidence import (
    EVIDENCE_QUESTIONS,
    MOST_TAILS,
    AskFailure,
    AskSignals,
    EvidenceQuestion,
    pack,
)
from muster.domain.errors import Permanent, Temporary
from muster.domain.evidence import FailureEvidence, NodeEvidence, NodeLine, WorkerEvidence
from muster.domain.nodes import NodeCondition
from muster.domain.state import JobState
from muster.executor.backends import Backend, Observed, Words, WorkerKey, WorkerStatus
from muster.executor.core.masking import masked
from muster.executor.handlers import Handlers
from muster.executor.launches import Launches
from muster.executor.outputs import last, tail
from muster.executor.signals import SignsOfLife
from muster.runtime.journal import Journal
from muster.runtime.service import Aside

MOST_BODY = 1_000_000
"""Bytes of an answer as it is sent; a message may have 1 MiB."""
LEAST_TAIL = 256
LONGEST_MESSAGE = 2000
BEFORE, AFTER = timedelta(minutes=15), timedelta(minutes=5)
"""Round the present moment: whose question names no window means this one."""

_ALIVE = (WorkerStatus.STARTING, WorkerStatus.RUNNING)


class EvidenceDesk:
    """`answer` is the desk's."""

    def __init__(
        self,
        journal: Journal,
        backend: Backend,
        handlers: Handlers,
        launches: Launches,
        signs: SignsOfLife,
        aside: Aside,
    ) -> None:
        self._journal, self._backend, self._handlers = journal, backend, handlers
        self._launches, self._signs, self._aside = launches, signs, aside

    async def answer(self, question: Question) -> bytes:
        """Answer one question. Raises Permanent for what is none."""
        if not self._handlers.watch.caught_up:
            raise Temporary("the executor still reads what became of nodes and jobs", delay=0.5)
        await self._handlers.holder.require()
        match _read(question):
            case AskSignals() as asked:
                return pack(await self._signs.of(asked))
            case AskFailure() as asked:
                found = await self.failure(asked)
                return await self._aside(partial(fitting, found))
            case other:
                raise Permanent(f"nobody answers {other.kind}")

    async def failure(self, asked: AskFailure) -> FailureEvidence:
        """Return what is known of an attempt. Raises Permanent for a job that nobody knows."""
        known = await self._journal.job(asked.tenant, asked.job)
        if known is None:
            raise Permanent(f"job {asked.job} is not known")
        state = known.job
        seen = {
            each.key.worker: each
            for each in await self._backend.observe()
            if (each.key.job, each.key.attempt) == (asked.job, asked.attempt)
        }
        keys = [WorkerKey(asked.job, asked.attempt, name) for name in state.demand.workers]
        words = await self._backend.words(keys)
        tails = await self._tails(state, asked)
        placed = state.placed_on if state.attempt == asked.attempt else {}
        workers = [
            self._worker(state, key, rank, seen.get(key.worker), placed, words)
            for rank, key in enumerate(keys)
            if key.worker in seen or key.worker in placed
        ]
        return FailureEvidence(
            tenant=asked.tenant,
            job=asked.job,
            attempt=asked.attempt,
            workers=tuple(w.model_copy(update={"tail": tails.get(w.worker, "")}) for w in workers),
            nodes=await self._nodes(dict.fromkeys(w.node for w in workers), keys, asked),
            checkpoint=await self._handlers.gate.glance(await self._handlers.spec(state)),
        )

    def _worker(
        self,
        state: JobState,
        key: WorkerKey,
        rank: int,
        seen: Observed | None,
        placed: Mapping[str, str],
        words: Mapping[WorkerKey, Words],
    ) -> WorkerEvidence:
        node = seen.node if seen else placed[key.worker]
        down = node in self._handlers.watch.down | self._handlers.watch.taken
        code = seen.exit_code if seen else None
        alive = seen is not None and seen.status in _ALIVE and not down
        said, clock = words.get(key, Words()), self._journal.clock
        return WorkerEvidence(
            worker=key.worker,
            node=node,
            rank=rank,
            alive=alive,
            exit_code=code,
            cause="exited" if alive or code is not None else _unseen(state, key, down),
            started_at=clock.of_server(seen.started_at) if seen and seen.started_at else None,
            ended_at=clock.of_server(seen.ended_at) if seen and seen.ended_at else None,
            reason=said.reason,
            message=masked(said.message[:LONGEST_MESSAGE]),
        )

    async def _tails(self, state: JobState, asked: AskFailure) -> dict[str, str]:
        if not asked.tails or not asked.tail_bytes:
            return {}
        secrets = self._launches.secrets(await self._handlers.spec(state))
        known = set(state.demand.workers)
        wanted = [name for name in dict.fromkeys(asked.tails) if name in known]
        most = min(asked.tail_bytes, MOST_TAILS // max(1, len(wanted)))

        def read() -> dict[str, str]:
            keys = {name: WorkerKey(asked.job, asked.attempt, name) for name in wanted}
            outputs = {name: self._backend.output(key) for name, key in keys.items()}
            return {name: tail(out, most, secrets) for name, out in outputs.items() if out}

        return await self._aside(read)

    async def _nodes(
        self, nodes: Iterable[str], keys: Sequence[WorkerKey], asked: AskFailure
    ) -> tuple[NodeEvidence, ...]:
        names, clock = list(nodes), self._journal.clock
        now = clock.now()
        since, until = asked.since or now - BEFORE, asked.until or now + AFTER
        lines = await self._backend.node_lines(
            names, clock.on_server(since), clock.on_server(until), keys
        )
        return tuple(self._node(name, lines.get(name, ())) for name in names)

    def _node(self, name: str, lines: Sequence[NodeLine]) -> NodeEvidence:
        known, of_server = self._handlers.watch.nodes.get(name), self._journal.clock.of_server
        return NodeEvidence(
            node=name,
            condition=known.condition if known else NodeCondition.GONE,
            lines=tuple(
                NodeLine(
                    scope=line.scope,
                    text=masked(line.text),
                    at=of_server(line.at) if line.at else None,
                )
                for line in lines
            ),
            serial=known.shape.labels.get(SERIAL) if known else None,
        )


SERIAL = "serial"
"""The label of a node that stays with the machine under whatever name it comes back."""


def _unseen(state: JobState, key: WorkerKey, down: bool) -> str:
    """Say why nobody saw a worker's end; of an attempt that is long over, nobody can say."""
    if down:
        return "node_lost"
    present = state.attempt == key.attempt and state.launched and bool(state.held)
    return "vanished" if present else "exited"


def _read(question: Question) -> EvidenceQuestion:
    kind = question.subject.rpartition(".")[2]
    model = EVIDENCE_QUESTIONS.get(kind)
    if model is None:
        known = ", ".join(sorted(EVIDENCE_QUESTIONS))
        raise Permanent(f"there is no question {kind!r}; ask {known}")
    try:
        return model.model_validate_json(question.body)
    except ValidationError as error:
        raise Permanent(f"the question {kind} cannot be read: {error}") from error


def fitting(found: FailureEvidence) -> bytes:
    """Return the answer as it is sent, tails and then lines cut until it fits into a message."""
    body, most = pack(found), max((len(w.tail) for w in found.workers), default=0)
    while len(body) > MOST_BODY and most > LEAST_TAIL:
        most //= 2
        workers = (w.model_copy(update={"tail": last(w.tail, most)}) for w in found.workers)
        found = found.model_copy(update={"workers": tuple(workers)})
        body = pack(found)
    kept = max((len(node.lines) for node in found.nodes), default=0)
    while len(body) > MOST_BODY and kept:
        kept //= 2
        nodes = (
            n.model_copy(update={"lines": n.lines[len(n.lines) - kept :]}) for n in found.nodes
        )
        found = found.model_copy(update={"nodes": tuple(nodes)})
        body = pack(found)
    return body
