"""What the executor answers of a failed attempt: who ended how, who said what, and no secret."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from muster.bus import Question
from muster.contracts.evidence import MOST_TAILS, TAIL, AskFailure, unpack
from muster.domain.errors import Permanent, Temporary
from muster.domain.evidence import FailureEvidence, WorkerEvidence
from muster.domain.nodes import NodeCondition
from muster.executor.evidence import MOST_BODY, fitting
from muster.testing.scripts import Script
from muster.testing.virtual_time import START
from tests.executor.desk_world import JOB, DeskWorld
from tests.support.log_lives import TENANT

DIES = Script(run_s=10, exit_code=1, last_words="step=3\nRuntimeError: no\n", reason="Error")


async def world_of(root: Path, **scripts: Script) -> DeskWorld:
    world = DeskWorld(root, **scripts)
    await world.start()
    await world.runs()
    return world


async def test_says_how_each_worker_ended_and_who_lives(tmp_path: Path) -> None:
    world = await world_of(tmp_path, worker_0=DIES)
    await world.passes(30)
    found = await world.failure("worker-0", "worker-1", "worker-7")
    dead, alive = found.workers
    assert (dead.worker, dead.rank, dead.node) == ("worker-0", 0, "n1")
    assert (dead.exit_code, dead.cause, dead.alive, dead.reason) == (1, "exited", False, "Error")
    assert dead.tail == "step=3\nRuntimeError: no\n"
    assert dead.ended_at == START + timedelta(seconds=11)
    assert (alive.rank, alive.alive, alive.exit_code, alive.tail) == (1, True, None, "")
    assert [node.node for node in found.nodes] == ["n1", "n2"]


async def test_a_tail_is_given_only_of_those_that_it_is_asked_of(tmp_path: Path) -> None:
    world = await world_of(tmp_path, worker_0=DIES, worker_1=DIES)
    await world.passes(30)
    first, second = (await world.failure("worker-1", tail_bytes=17)).workers
    assert (first.tail, second.tail) == ("", "RuntimeError: no\n")
    none = await world.failure("worker-1", tail_bytes=0)
    assert [each.tail for each in none.workers] == ["", ""]


async def test_a_worker_on_a_lost_node_is_lost_and_one_that_nobody_sees_vanished(
    tmp_path: Path,
) -> None:
    world = await world_of(tmp_path)
    await world.passes(5)
    world.cluster.workers.pop(next(w for w in world.cluster.workers if w.worker == "worker-1"))
    await world.lives.lost("n1")
    await world.read()
    lost, vanished = (await world.failure()).workers
    assert (lost.alive, lost.cause) == (False, "node_lost")
    assert (vanished.alive, vanished.cause, vanished.exit_code) == (False, "vanished", None)


async def test_lines_of_a_node_are_those_of_the_window_asked_for(tmp_path: Path) -> None:
    world = await world_of(tmp_path, worker_0=DIES)
    await world.passes(100)
    for at, text in ((10, "Xid 48"), (20, "Xid 79"), (31, "Xid 13"), (None, "Xid ?")):
        world.cluster.say("n1", text, at)
    since, until = START + timedelta(seconds=20), START + timedelta(seconds=30)
    found = await world.failure(since=since, until=until)
    assert [line.text for line in found.nodes[0].lines] == ["Xid 79", "Xid ?"]
    assert found.nodes[0].lines[0].at == since
    assert found.nodes[1].lines == ()
    assert [line.text for line in (await world.failure()).nodes[0].lines] == [
        "Xid 48",
        "Xid 79",
        "Xid 13",
        "Xid ?",
    ]


async def test_a_node_of_which_the_log_knows_nothing_is_gone(tmp_path: Path) -> None:
    world = await world_of(tmp_path)
    world.handlers.watch.nodes.pop("n2")
    conditions = [node.condition for node in (await world.failure()).nodes]
    assert conditions == [NodeCondition.READY, NodeCondition.GONE]


async def test_an_earlier_attempt_is_answered_by_what_is_still_seen_of_it(tmp_path: Path) -> None:
    world = await world_of(tmp_path, worker_0=DIES)
    await world.passes(30)
    asked = AskFailure(tenant=TENANT, job=JOB, attempt=7)
    found = unpack(FailureEvidence, await world.ask(asked))
    assert (found.workers, found.nodes) == ((), ())


async def test_what_cannot_be_answered_says_why(tmp_path: Path) -> None:
    world = DeskWorld(tmp_path)
    await world.start()
    asked = AskFailure(tenant=TENANT, job="nobody", attempt=1)
    with pytest.raises(Temporary, match="still reads"):
        await world.ask(asked)
    await world.runs()
    with pytest.raises(Permanent, match="job nobody is not known"):
        await world.ask(asked)
    with pytest.raises(Permanent, match="there is no question 'gossip'; ask failure, signals"):
        await world.desk.answer(Question("evidence.default.gossip", b"{}"))
    with pytest.raises(Permanent, match="the question failure cannot be read"):
        await world.desk.answer(Question("evidence.default.failure", b"{}"))
    await world.handlers.holder.acquire()
    world.handlers.holder._taken = 1
    with pytest.raises(Temporary, match="another executor holds cluster"):
        await world.ask(asked)


@pytest.mark.parametrize("workers", [1, 64, 1024])
def test_an_answer_fits_into_a_message_whatever_was_printed(workers: int) -> None:
    dice, each = Random(1), min(TAIL, MOST_TAILS // workers)
    noise = "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(each // 3))
    found = FailureEvidence(
        tenant=TENANT,
        job=JOB,
        attempt=1,
        workers=tuple(
            WorkerEvidence(
                worker=f"worker-{n}", node=f"n{n}", rank=n, tail=noise[n:] + noise[:n] + "\nlast\n"
            )
            for n in range(workers)
        ),
    )
    body = fitting(found)
    read = unpack(FailureEvidence, body)
    assert len(body) <= MOST_BODY
    assert len(read.workers) == workers
    assert all(
        worker.tail.endswith("\nlast\n") or worker.tail == "last\n" for worker in read.workers
    )
    if workers == 1:
        assert read == found
