"""A debug resubmission: the same job in all but what it runs, linked to its origin."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.admission.core.debugging import LONGEST_NAME, debug_name, debug_spec
from muster.contracts import subjects
from muster.contracts.requests import Answer, job_id
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.spec import JobSpec
from muster.log import Recorded
from tests.admission.test_handlers import SPEC, Bench

RICH: dict[str, Any] = {
    "resource": {"type": "reserved", "replicas": 3, "gpus_per_replica": 8, "gpu_model": "H100"},
    "auto_queue": {"enabled": True, "max_queue_hours": 3, "max_requeues": 2},
    "fault_tolerance": {"enabled": True, "max_retries": 5, "hang": {"action": "restart"}},
    "environment": [{"name": "A", "value": "b"}],
    "node_policy": {"type": "NodeIn", "nodes": ["n1"]},
    "checkpoint_dir": "/ckpt",
}
CHANGED = {"name", "command", "auto_queue", "fault_tolerance", "debug", "progress"}


def spec(**more: Any) -> JobSpec:
    return JobSpec.model_validate_json(json.dumps(SPEC | more))


async def debugged(bench: Bench, job: str, request: str = "d1", user: str = "bob") -> Answer:
    return await bench.tell("debug", {"user": user, "job": job}, request)


def named(answer: Answer) -> str:
    assert answer.job is not None
    return answer.job


async def submitted(bench: Bench, job: str) -> f.Submitted:
    history = await bench.log.history(subjects.job_key("acme", job))
    first = history[0]
    assert isinstance(first, Recorded)
    detail = first.event.data.detail
    assert isinstance(detail, f.Submitted)
    return detail


def test_all_but_what_it_runs_stays() -> None:
    origin = spec(**RICH)
    made = debug_spec(origin)
    assert made.command == ("sleep", "inf")
    assert (made.demand().queue, made.demand().max_restarts, made.demand().hang) == (None, 0, None)
    for field in set(JobSpec.model_fields) - CHANGED:
        assert getattr(made, field) == getattr(origin, field), field
    assert made.demand().roles == origin.demand().roles


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("train", "train-debug"),
        ("train-debug", "train-debug"),
        ("a" * LONGEST_NAME, "a" * (LONGEST_NAME - 6) + "-debug"),
    ],
)
def test_its_name_says_what_it_is(name: str, made: str) -> None:
    assert debug_name(name) == made
    assert spec(name=made).name == made


async def test_it_is_a_job_of_its_own_that_knows_its_origin() -> None:
    bench = Bench()
    await bench.submit("r1", **RICH)
    origin = job_id("acme", "r1")
    answer = await debugged(bench, origin)
    assert (answer.accepted, answer.phase, answer.job) == (True, "queued", job_id("acme", "d1"))
    made = (await bench.last(named(answer))).job
    assert (made.origin, made.user, made.name) == (origin, "bob", "train-debug")
    assert made.one_shot is False
    assert (await submitted(bench, named(answer))).spec.command == ("sleep", "inf")
    assert (await bench.last(origin)).job.origin is None


async def test_a_job_that_has_ended_can_be_looked_into() -> None:
    bench = Bench()
    await bench.submit("r1", **RICH)
    origin = job_id("acme", "r1")
    pen = bench.journal(Owner.ADMISSION)
    stopped = f.StopRequested(by="ann", request="s1")
    await pen.record(pen.about_job(await bench.last(origin), stopped))
    answer = await debugged(bench, origin)
    assert answer.accepted
    assert (await bench.last(origin)).job.phase == "stopped"


async def test_told_twice_it_is_one_job_and_another_body_is_refused() -> None:
    bench = Bench()
    await bench.submit("r1")
    await bench.submit("r2")
    first, other = job_id("acme", "r1"), job_id("acme", "r2")
    once, twice = await debugged(bench, first), await debugged(bench, first)
    assert (once.job, twice.job, twice.accepted) == (job_id("acme", "d1"), once.job, True)
    history = await bench.log.history(subjects.job_key("acme", named(once)))
    assert len(history) == 2
    for job, user in ((other, "bob"), (first, "eve")):
        refused = await debugged(bench, job, user=user)
        assert [each.code for each in refused.violations] == ["E_REQUEST_REUSED"]


async def test_it_passes_the_same_door_as_every_job() -> None:
    bench = Bench()
    await bench.submit("r1", labels={"_sys_x": "y"})  # refused, but its specification is known
    answer = await debugged(bench, job_id("acme", "r1"))
    assert not answer.accepted
    assert [each.code for each in answer.violations] == ["E_LABEL_FORMAT"]


async def test_what_cannot_be_looked_into_says_why() -> None:
    bench = Bench()
    unknown = await debugged(bench, "nobody")
    assert [(v.code, v.path) for v in unknown.violations] == [("E_JOB_UNKNOWN", "$.job")]
    await bench.submit("r1")
    origin = job_id("acme", "r1")
    key = subjects.job_key("acme", origin)
    await bench.log.trim(key, (await bench.last(origin)).seq)
    gone = await debugged(bench, origin, "d2")
    assert [(v.code, v.path) for v in gone.violations] == [("E_SPEC_GONE", "$.job")]
    assert "sleep inf" in gone.violations[0].en
    assert "sleep inf" in gone.violations[0].zh
