"""What a scheduler answers about its plan: read-only, at a stated place of the log."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from muster.bus import Question
from muster.contracts import subjects
from muster.contracts.queries import ExplainJob, FitJob, Query, QueryAnswer
from muster.domain.errors import Temporary
from muster.domain.waiting import FitOutcome
from muster.scheduler.core import plan as planning
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.cycle import questions, stills
from muster.scheduler.cycle.questions import Questions
from muster.scheduler.handlers import CatchingUp, Scheduler
from tests.scheduler.pools import Pool, settle
from tests.scheduler.worlds import POOL

SPEC: dict[str, Any] = {
    "name": "train",
    "image": "i:1",
    "command": ["run"],
    "resource": {"type": "on_demand", "replicas": 1, "gpus_per_replica": 8},
}


async def ask(scheduler: Scheduler, query: Query, pool: str = POOL) -> QueryAnswer:
    found = Questions(scheduler, Policy())
    return await put(found, query, pool)


async def put(found: Questions, query: Query, pool: str = POOL) -> QueryAnswer:
    subject = subjects.query_subject(pool, query.kind)
    body = query.model_dump_json(exclude_none=True).encode()
    return QueryAnswer.model_validate_json(await found.answer(Question(subject, body)))


def fit(**more: Any) -> FitJob:
    return FitJob(**{"tenant": "t", "user": "u", "spec": SPEC} | more)


def explain(job: str, **more: Any) -> ExplainJob:
    return ExplainJob(**{"tenant": "t", "job": job} | more)


@pytest.fixture
async def pool() -> Pool:
    found = Pool()
    await found.join("n1", "n2")
    await found.submit("a")
    await found.submit("b")
    await found.submit("c")
    return found


async def test_leader_and_standby_give_the_same_answer_and_write_nothing(pool: Pool) -> None:
    leader, standby = pool.scheduler(), pool.scheduler()
    await settle(standby)
    await settle(leader, standby)
    before = len(pool.store.entries)
    answers = [await ask(each, explain("c")) for each in (leader, standby)]
    assert answers[0] == answers[1]
    assert len(pool.store.entries) == before
    (answer, _) = answers
    assert answer.explanation is not None
    assert answer.explanation.why.code == "NO_ROOM"
    assert (answer.epoch, answer.pool) == (2, POOL)
    assert answer.position == leader.position
    assert answer.round is not None
    assert answer.fit is not None
    assert answer.fit.outcome is FitOutcome.WAITS


async def test_what_is_said_is_what_happens(pool: Pool) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    await pool.launch("a")
    await pool.launch("b")
    await settle(scheduler)
    asked = await ask(scheduler, fit(priority="high"))
    assert asked.fit is not None
    assert asked.fit.outcome is FitOutcome.PLACED
    (victim,) = asked.fit.victims
    await pool.submit("d", resource={"priority": 90})
    await settle(scheduler)
    state = await pool.state("d")
    assert dict(state.held) == asked.fit.placement
    assert [wait.job for wait in state.waits_for] == [victim.job]


async def test_a_job_in_any_phase_is_answered(pool: Pool) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    for job, code in (("a", "LAUNCH"), ("c", "NO_ROOM")):
        found = (await ask(scheduler, explain(job))).explanation
        assert found is not None
        assert found.why.code == code
    await pool.launch("a")
    await settle(scheduler)
    found = (await ask(scheduler, explain("a"))).explanation
    assert found is not None
    assert found.why.code == "RUNNING"


async def test_a_priority_and_what_ifs_are_as_if(pool: Pool) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    gone = await ask(scheduler, explain("c", what_if=("stop a",)))
    assert gone.fit is not None
    assert gone.fit.outcome is FitOutcome.PLACED
    assert gone.explanation is not None
    assert gone.explanation.why.code == "FITS_NOW"
    risen = await ask(scheduler, explain("c", priority=99))
    assert risen.fit is not None
    assert len(risen.fit.victims) == 1
    itself = await ask(scheduler, explain("c", what_if=("stop c",)))
    assert itself.explanation is not None
    assert itself.explanation.why.code == "SUPPOSED_GONE"
    assert (await pool.state("c")).demand.priority == 50


@pytest.mark.parametrize(
    ("query", "code", "path"),
    [
        (explain("zzz"), "E_JOB_UNKNOWN", "$.job"),
        (explain("c", what_if=("drain n9",)), "E_WHAT_IF_NODE", "$.what_if[0]"),
        (explain("c", what_if=("drian n1",)), "E_WHAT_IF", "$.what_if[0]"),
        (fit(spec=SPEC | {"replicas": 3}), "E_UNKNOWN_FIELD", "$.spec.replicas"),
        (fit(spec=SPEC | {"command": []}), "E_COMMAND", "$.spec.command"),
        (fit(spec=SPEC | {"image": " "}), "E_IMAGE", "$.spec.image"),
        (
            fit(spec=SPEC | {"resource": {"type": "idle"}}, priority="high"),
            "E_IDLE_PRIORITY",
            "$.spec.resource.priority",
        ),
        (
            fit(spec=SPEC | {"resource": {"type": "spot", "pool": "west"}}),
            "E_QUESTION_POOL",
            "$.spec.resource.pool",
        ),
    ],
)
async def test_what_cannot_be_answered_is_refused_by_field(
    pool: Pool, query: Query, code: str, path: str
) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    answer = await ask(scheduler, query)
    assert (code, path) in {(each.code, each.path) for each in answer.violations}
    assert answer.explanation is None
    assert answer.fit is None


async def test_questions_of_other_kinds_and_shapes_are_refused(pool: Pool) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    found = Questions(scheduler, Policy())
    for kind, body in (("guess", b"{}"), ("explain", b"[]"), ("explain", b"\xff"), ("fit", b"{}")):
        reply = await found.answer(Question(f"queries.{POOL}.{kind}", body))
        answer = QueryAnswer.model_validate_json(reply)
        assert answer.violations
    empty = await put(found, explain("c"), "elsewhere")
    assert [each.code for each in empty.violations] == ["E_QUESTION_POOL"]


async def test_nothing_is_answered_before_the_log_is_read_and_nothing_from_the_past(
    pool: Pool,
) -> None:
    scheduler = pool.scheduler()
    with pytest.raises(CatchingUp):
        await ask(scheduler, explain("c"))
    await settle(scheduler)
    ahead = scheduler.position + 1
    with pytest.raises(Temporary):
        await ask(scheduler, explain("c", at_least=ahead))
    await pool.submit("d")
    await settle(scheduler)
    assert (await ask(scheduler, explain("c", at_least=ahead))).position >= ahead


async def test_questions_about_the_same_state_share_one_plan(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    made: list[int] = []

    def counted(snapshot: Any, policy: Policy) -> Any:
        made.append(snapshot.upto)
        return planning.plan(snapshot, policy)

    monkeypatch.setattr(questions, "plan", counted)
    found = Questions(scheduler, Policy())
    await asyncio.gather(*(put(found, explain(job)) for job in ("a", "b", "c", "c")))
    assert len(made) == 1
    await put(found, explain("c", what_if=("stop a",)))
    await put(found, explain("a", what_if=("stop a",)))
    assert len(made) == 2
    await pool.submit("d")
    await settle(scheduler)
    await put(found, explain("d"))
    assert len(made) == 3
    pool.pass_by(5)
    await put(found, explain("d"))
    assert len(made) == 4


async def test_a_snapshot_in_a_file_gives_the_same_answers(pool: Pool) -> None:
    scheduler = pool.scheduler()
    await settle(scheduler)
    snapshot = scheduler.frozen(scheduler.pool(POOL))
    again = stills.load(stills.dump(snapshot))
    assert again == snapshot
    still = Questions(stills.Still(again), Policy())
    for query in (explain("c"), fit(), fit(what_if=("stop a",))):
        live, kept = await ask(scheduler, query), await put(still, query)
        assert (kept.explanation, kept.fit) == (live.explanation, live.fit)
        assert (kept.position, kept.at) == (live.position, live.at)


def test_a_snapshot_keeps_every_field() -> None:
    own = {"kind", "format"}
    fields = {name for name in Snapshot.__dataclass_fields__ if name not in {"book", "memory"}}
    assert stills.File.model_fields.keys() - own == fields


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "muster-snapshot", "format": 99}'])
def test_what_is_no_snapshot_says_so(text: str) -> None:
    with pytest.raises(stills.NoSnapshot):
        stills.load(text)
