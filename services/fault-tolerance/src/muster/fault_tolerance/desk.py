"""Answers what people ask about nodes and about failures that no rule knows. Changes nothing."""

from __future__ import annotations

from functools import partial

from pydantic import ValidationError

from muster.bus import Question
from muster.contracts import subjects
from muster.contracts.events import first_error
from muster.contracts.judgements import (
    JUDGEMENT_QUESTIONS,
    AskFingerprints,
    AskNodes,
    FingerprintCluster,
    FingerprintClusters,
    JudgementQuestion,
    NodeRating,
    NodeRatings,
)
from muster.domain.errors import Permanent
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeState
from muster.fault_tolerance import store
from muster.fault_tolerance.core import brakes, suspicion
from muster.fault_tolerance.core.suspicion import Rating, Suspicion
from muster.fault_tolerance.store.histories import Cluster
from muster.fault_tolerance.surroundings import Surroundings
from muster.runtime.clock import Clock
from muster.runtime.database import Database


class Desk:
    """Answers `judgements.>`; any replica can."""

    def __init__(self, around: Surroundings, database: Database, clock: Clock) -> None:
        self._around, self._database, self._clock = around, database, clock

    async def answer(self, question: Question) -> bytes:
        """Answer one question. Raises Permanent for one that is none."""
        match _read(question):
            case AskFingerprints(limit=limit):
                found = await self._database.run(partial(store.clusters, limit=limit))
                answer = FingerprintClusters(clusters=tuple(map(_cluster, found)))
                return answer.model_dump_json().encode()
            case AskNodes(pool=pool):
                return (await self._nodes(pool)).model_dump_json().encode()
            case asked:
                raise Permanent(f"nobody answers {asked.kind} here")

    async def _nodes(self, pool: str | None) -> NodeRatings:
        await self._around.look()
        now = self._clock.now()
        histories = await self._database.run(partial(store.histories, now=now))
        assessed = suspicion.assess(list(self._around.known.every_node()), histories, now)
        rows = []
        for each in assessed:
            held = self._around.known.incident(brakes.brake_id(each.node.pool))
            if pool in {None, each.node.pool}:
                rows.append(_row(each.node, each.whole, each.why, held))
        ratings = [each.whole for each in assessed]
        rated = sum(rating.stays > 0 for rating in ratings)
        usual = suspicion.usual(ratings)
        rows.sort(key=lambda row: (-row.low, -row.failed, row.pool, row.node))
        return NodeRatings(at=now, fleet=usual, rated=rated, nodes=tuple(rows))


def _read(question: Question) -> JudgementQuestion:
    kind = subjects.parse(question.subject).event
    model = JUDGEMENT_QUESTIONS.get(kind)
    if model is None:
        raise Permanent(f"no question is called {kind!r}")
    try:
        return model.model_validate_json(question.body)
    except ValidationError as error:
        raise Permanent(f"question {kind}: {first_error(error)}") from error


def _row(
    node: NodeState, rating: Rating, why: Suspicion | None, held: Incident | None
) -> NodeRating:
    braked = held is not None and held.open and node.node in held.nodes
    return NodeRating(
        pool=node.pool,
        node=node.node,
        serial=node.shape.serial,
        condition=node.condition.value,
        cordoned=node.cordoned,
        suspected=node.suspected,
        excluded_until=node.excluded_until,
        exclusions=node.exclusions,
        jobs=rating.jobs,
        users=rating.users,
        stays=round(rating.stays, 2),
        failed=round(rating.failed, 2),
        rate=round(rating.rate, 4),
        low=round(rating.low, 4),
        high=round(rating.high, 4),
        rules=rating.rules,
        last_at=rating.last_at,
        proposed=node.proposed and not node.cordoned,
        why=why.en if why else node.why,
        why_zh=why.zh if why else node.why_zh,
        held=held.en if held and braked else "",
        held_zh=held.zh if held and braked else "",
    )


def _cluster(found: Cluster) -> FingerprintCluster:
    return FingerprintCluster(
        fingerprint=found.fingerprint,
        failures=found.failures,
        jobs=found.jobs,
        users=found.users,
        first_at=found.first_at,
        last_at=found.last_at,
        nodes=found.nodes,
        excerpt=found.excerpt,
    )
