"""Requests on the log in memory: carried out once, answered always, parked when unanswerable."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from muster.admission.handlers import Handlers
from muster.bus import Room, Trigger
from muster.contracts import subjects
from muster.contracts.requests import Answer, job_id, request_type
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Permanent
from muster.domain.incidents import Incident, IncidentKind, IncidentOpened, incident_id
from muster.domain.nodes import NodeCondition, NodeJoined, NodeShape
from muster.domain.phases import Phase
from muster.domain.stock import item_name
from muster.log import Recorded
from muster.log.memory import MemoryLog, Store
from muster.runtime.journal import Journal
from tests.support.lives import START

SPEC = {"name": "train", "image": "i", "command": ["x"], "resource": {"type": "spot"}}


class Bench:
    """A store, a clock that stands still, and admission over them."""

    def __init__(self) -> None:
        self.at = START
        self.log = MemoryLog(Store(self.now))
        self.answers: list[Answer] = []
        self.count = 0
        self.handlers = Handlers(self.journal(Owner.ADMISSION), self)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant

    def ids(self) -> str:
        self.count += 1
        return f"id{self.count}"

    def journal(self, owner: Owner) -> Journal:
        return Journal(owner, self.log, self, self.ids)

    async def consume(self, subscription: Any) -> None: ...

    async def broadcast(self, subject: str, body: bytes) -> None: ...

    async def waiting(self, consumer: Any) -> int:
        return 0

    async def room(self) -> tuple[Room, ...]:
        return ()

    async def serve(self, responder: Any) -> None: ...

    async def ask(self, subject: str, body: bytes, timeout: float) -> bytes:
        return b""

    async def answer(self, answer: Answer) -> None:
        self.answers.append(answer)

    async def tell(self, verb: str, data: Any, request: str = "r1", **head: Any) -> Answer:
        envelope = {
            "specversion": "1.0",
            "id": request,
            "source": "test",
            "type": request_type(verb),
            "data": data,
        }
        await self.send(verb, json.dumps(envelope | head).encode())
        return self.answers[-1]

    async def send(self, verb: str, body: bytes) -> None:
        await self.handlers.on_request(Trigger(f"requests.acme.{verb}", 1, self.at, 1, body))

    async def submit(self, request: str = "r1", **spec: Any) -> Answer:
        return await self.tell("submit", {"user": "ann", "spec": SPEC | spec}, request)

    async def last(self, job: str) -> Recorded:
        found = await self.log.last(subjects.job_key("acme", job))
        assert found is not None
        return found


async def test_a_good_job_is_submitted_and_admitted_in_one_batch() -> None:
    bench = Bench()
    answer = await bench.submit()
    assert (answer.accepted, answer.phase) == (True, "queued")
    assert answer.job == job_id("acme", "r1")
    history = await bench.log.history(subjects.job_key("acme", answer.job))
    assert [item.event.type for item in history if isinstance(item, Recorded)] == [
        "muster.job.submitted.v1",
        "muster.job.admitted.v1",
    ]


@pytest.mark.parametrize(
    ("spec", "accepted", "codes"),
    [(SPEC, True, []), (SPEC | {"labels": {"_sys_x": "y"}}, False, ["INVALID"])],
)
async def test_a_request_again_after_the_log_was_trimmed_is_still_answered(
    spec: dict[str, Any], accepted: bool, codes: list[str]
) -> None:
    bench = Bench()
    first = await bench.tell("submit", {"user": "ann", "spec": spec})
    assert (first.accepted, first.job) == (accepted, job_id("acme", "r1"))
    key = subjects.job_key("acme", job_id("acme", "r1"))
    last = await bench.log.last(key)
    assert last is not None
    pen = bench.journal(Owner.GATEWAY)
    if not accepted:
        archived = f.Archived(phase=Phase.REJECTED)
        last = await pen.record(pen.about_job(last, archived))
    await bench.log.trim(key, last.seq)
    again = await bench.tell("submit", {"user": "ann", "spec": spec})
    assert (again.accepted, again.job) == (accepted, first.job)
    assert [found.code for found in again.violations] == codes
    assert await bench.log.end() == last.seq


async def test_the_same_request_again_is_the_same_job_and_the_same_answer() -> None:
    bench = Bench()
    first, again = await bench.submit(), await bench.submit()
    assert (first.job, first.accepted) == (again.job, again.accepted)
    assert await bench.log.end() == 2


async def test_the_same_id_with_another_body_is_refused() -> None:
    bench = Bench()
    await bench.submit()
    answer = await bench.submit(name="other")
    assert [v.code for v in answer.violations] == ["E_REQUEST_REUSED"]
    assert await bench.log.end() == 2


async def test_a_broken_rule_leaves_a_rejected_job_with_every_violation() -> None:
    bench = Bench()
    answer = await bench.submit(resource={"type": "idle", "priority": 5, "guarantee": True})
    assert not answer.accepted
    assert [v.code for v in answer.violations] == ["E_IDLE_PRIORITY", "E_IDLE_GUARANTEE"]
    assert answer.job is not None
    assert (await bench.last(answer.job)).job.phase is Phase.REJECTED
    assert (
        await bench.submit(resource={"type": "idle", "priority": 5, "guarantee": True})
    ) == answer


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"user": "ann"}, "$.data.spec"),
        ({"user": "", "spec": {}}, "$.data.user"),
        ([], "$.data"),
        ({"user": "ann", "spec": {}, "extra": 1}, "$.data.extra"),
        ({"user": "ann", "spec": SPEC | {"name": 5}}, "$.spec.name"),
    ],
)
async def test_a_wrong_shape_is_answered_with_the_field(data: Any, path: str) -> None:
    bench = Bench()
    answer = await bench.tell("submit", data)
    assert not answer.accepted
    assert path in [v.path for v in answer.violations]
    assert await bench.log.end() == 0


async def test_an_unknown_verb_and_a_foreign_type_are_answered() -> None:
    bench = Bench()
    answer = await bench.tell("explode", {})
    assert [v.code for v in answer.violations] == ["E_VERB"]
    answer = await bench.tell("stop", {"user": "a", "job": "j"}, type="muster.request.submit.v1")
    assert [v.code for v in answer.violations] == ["E_REQUEST"]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"id": "a b"}', b"\xff\xfe"])
async def test_what_has_no_identity_cannot_be_answered_and_is_parked(body: bytes) -> None:
    bench = Bench()
    with pytest.raises(Permanent, match="cannot be answered"):
        await bench.send("submit", body)
    assert bench.answers == []


class TestOneJob:
    async def queued(self) -> tuple[Bench, str]:
        bench = Bench()
        answer = await bench.submit(
            auto_queue={"enabled": True, "max_queue_hours": 1, "max_requeues": 1}
        )
        assert answer.job is not None
        return bench, answer.job

    async def test_stop_is_carried_out_once(self) -> None:
        bench, job = await self.queued()
        for _ in range(2):
            answer = await bench.tell("stop", {"user": "ann", "job": job}, "r2")
            assert (answer.accepted, answer.phase) == (True, "stopped")
        assert await bench.log.end() == 3

    async def test_a_finished_job_cannot_be_stopped_or_resumed(self) -> None:
        bench, job = await self.queued()
        await bench.tell("stop", {"user": "ann", "job": job}, "r2")
        answer = await bench.tell("resume", {"user": "ann", "job": job}, "r4")
        assert [v.code for v in answer.violations] == ["E_STATE"]
        assert "stopped" in answer.violations[0].en
        assert "已停止" in answer.violations[0].zh

    async def test_resume_with_other_limits_starts_every_count_again(self) -> None:
        bench, job = await self.queued()
        journal = bench.journal(Owner.REQUEUE)
        append = journal.about_job(await bench.last(job), f.QueueTimedOut(entry=1))
        await journal.record(append)
        bench.at += timedelta(hours=5)
        queue = {"enabled": True, "max_queue_hours": 12, "max_requeues": 3}
        answer = await bench.tell("resume", {"user": "ann", "job": job, "auto_queue": queue}, "r2")
        assert answer.accepted
        state = (await bench.last(job)).job
        assert (state.phase, state.queue_entry, state.requeues_left) == (Phase.QUEUED, 2, 3)
        assert state.deadlines["queue"] == bench.at + timedelta(hours=12)  # type: ignore[index]

    async def test_a_new_limit_counts_from_the_start_of_the_entry(self) -> None:
        bench, job = await self.queued()
        entered = (await bench.last(job)).job.entered_at
        assert entered is not None
        bench.at += timedelta(minutes=30)
        queue = {"enabled": True, "max_queue_hours": 2, "max_requeues": 1}
        await bench.tell("respecify", {"user": "ann", "job": job, "auto_queue": queue}, "r2")
        state = (await bench.last(job)).job
        assert state.deadlines["queue"] == entered + timedelta(hours=2)  # type: ignore[index]

    async def test_respecify_needs_something_to_change(self) -> None:
        bench, job = await self.queued()
        answer = await bench.tell("respecify", {"user": "ann", "job": job}, "r2")
        assert [v.code for v in answer.violations] == ["E_NOTHING"]

    async def test_priority_and_labels(self) -> None:
        bench, job = await self.queued()
        await bench.tell("prioritise", {"user": "ann", "job": job, "priority": "high"}, "r2")
        await bench.tell("relabel", {"user": "ann", "job": job, "labels": {"team": "x"}}, "r3")
        state = (await bench.last(job)).job
        assert (state.demand.priority, dict(state.labels)) == (90, {"team": "x"})

    async def test_a_job_of_another_tenant_does_not_exist(self) -> None:
        bench, _ = await self.queued()
        answer = await bench.tell("stop", {"user": "ann", "job": "j404"}, "r2")
        assert [v.code for v in answer.violations] == ["E_JOB_UNKNOWN"]


class TestNodes:
    async def bench(self) -> Bench:
        bench = Bench()
        journal = bench.journal(Owner.EXECUTOR)
        shape = NodeShape(gpus=8, gpu_model="x", cpus=8, memory_mib=1024)
        fact = NodeJoined(pool="default", node="n1", cluster="c", shape=shape)
        await journal.record(journal.about_node(None, fact))
        return bench

    async def condition(self, bench: Bench) -> tuple[NodeCondition, bool]:
        found = await bench.log.last(subjects.node_key("default", "n1"))
        assert found is not None
        return found.node.condition, found.node.cordoned

    async def test_cordon_drain_and_uncordon(self) -> None:
        bench = await self.bench()
        await bench.tell("drain_node", {"user": "op", "node": "n1"})
        assert await self.condition(bench) == (NodeCondition.READY, True)
        await bench.tell("uncordon_node", {"user": "op", "node": "n1"}, "r2")
        assert await self.condition(bench) == (NodeCondition.READY, False)

    async def test_a_reclaim_names_its_deadline_and_is_one_for_one_request(self) -> None:
        bench = await self.bench()
        for _ in range(2):
            answer = await bench.tell("reclaim_node", {"user": "op", "node": "n1", "notice_s": 9})
            assert answer.accepted
        found = await bench.log.last(subjects.node_key("default", "n1"))
        assert found is not None
        assert (found.node.deadline, found.node.version) == (START + timedelta(seconds=9), 2)

    async def test_an_unknown_node_is_named(self) -> None:
        bench = await self.bench()
        answer = await bench.tell("cordon_node", {"user": "op", "node": "n2"})
        assert [v.code for v in answer.violations] == ["E_NODE_UNKNOWN"]


# --- incidents ---------------------------------------------------------------------------------


async def incident(bench: Bench, **values: Any) -> Incident:
    found = Incident(
        id=incident_id(IncidentKind.STORAGE, "nfs-1"),
        kind=IncidentKind.STORAGE,
        name="nfs-1",
        opened_at=START,
        last_at=START,
        **values,
    )
    journal = bench.journal(Owner.FAULT_TOLERANCE)
    await journal.advance_incident(found.id, lambda known, now: IncidentOpened(incident=found))
    return found


async def test_a_persons_word_closes_an_incident_once() -> None:
    bench = Bench()
    name = (await incident(bench)).id
    for _ in range(2):
        assert (await bench.tell("close_incident", {"user": "op", "incident": name}, "c1")).accepted
    key = subjects.incident_key(name)
    last = await bench.log.last(key)
    assert last is not None
    found = last.event.data.detail.incident
    assert (found.open, found.closed_by, found.closed_at) == (False, "op", bench.now())
    assert len(await bench.log.history(key)) == 2
    answer = await bench.tell("close_incident", {"user": "op", "incident": name}, "c2")
    assert [v.code for v in answer.violations] == ["E_INCIDENT_UNKNOWN"]


async def test_an_unknown_incident_is_named() -> None:
    answer = await Bench().tell("close_incident", {"user": "op", "incident": "storage-x"})
    assert [v.code for v in answer.violations] == ["E_INCIDENT_UNKNOWN"]
    assert "storage-x" in answer.violations[0].en


# --- spot stock --------------------------------------------------------------------------------

STOCK = {"user": "op", "zone": "z1", "gpu_model": "H100", "gpus": 16, "price": 2.5}


async def test_stock_is_what_was_said_last_and_a_request_told_twice_is_one() -> None:
    bench = Bench()
    assert (await bench.tell("set_stock", STOCK, "s1")).accepted
    assert (await bench.tell("set_stock", STOCK, "s1")).accepted
    key = subjects.stock_key("default", item_name("z1", "H100"))
    assert len(await bench.log.history(key)) == 1
    assert (await bench.tell("set_stock", {**STOCK, "gpus": None, "notice_s": 60}, "s2")).accepted
    last = await bench.log.last(key)
    assert last is not None
    told = last.event.data.detail
    assert (told.gpus, told.by, told.request) == (None, "op", "s2")
    assert told.deadline == START + timedelta(seconds=60)


async def test_terms_of_stock_stay_until_a_request_names_others_or_none() -> None:
    bench = Bench()
    key = subjects.stock_key("default", item_name("z1", "H100"))

    async def terms(request: str, **more: object) -> tuple[object, ...]:
        said = {name: value for name, value in STOCK.items() if name != "price"}
        assert (await bench.tell("set_stock", said | more, request)).accepted
        last = await bench.log.last(key)
        assert last is not None
        told = last.event.data.detail
        return told.gpus, told.price, told.currency, told.network

    named = {"price": 2.5, "currency": "CNY", "network": "RoCE"}
    assert await terms("s1", **named) == (16, 2.5, "CNY", "RoCE")
    assert await terms("s2", gpus=0) == (0, 2.5, "CNY", "RoCE")
    assert await terms("s3", gpus=None) == (None, 2.5, "CNY", "RoCE")
    assert await terms("s4", price=3.0, network=None) == (16, 3.0, "CNY", None)


async def test_stock_below_nothing_is_refused() -> None:
    bench = Bench()
    answer = await bench.tell("set_stock", STOCK | {"gpus": -1})
    assert [each.path for each in answer.violations] == ["$.data.gpus"]
    assert await bench.log.end() == 0
