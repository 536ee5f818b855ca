"""What must hold when the line breaks, the server dies, or the leader changes: for real servers.

A subclass gives the fixture `world`. What a strike takes away is the world's matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from muster.domain.errors import Conflict, Temporary
from muster.log import Append, Basis, EventLog, Recorded, UnknownOutcome, nothing
from muster.log.jetstream import ANSWER_S, PATIENCE_S, JetStreamLog
from tests.contract.log_events import Job, epoch, epoch_key, fresh
from tests.contract.log_suite import alarm, everything, ids, written
from tests.contract.log_worlds import ClusterWorld, ServerWorld
from tests.support.eventually import eventually
from tests.support.lossy import LossyRelay

World = ServerWorld | ClusterWorld


async def appended(log: EventLog, job: Job, count: int) -> list[Recorded]:
    """Append a series as a service does: again from the last fact whenever it fails."""
    done: list[Recorded] = []
    last = await log.append(job.submitted(), nothing(job.key))
    while len(done) < count:
        event = job.relabelled()
        last = await persistently(lambda: log.append(event, Basis(job.key, last.seq)))  # noqa: B023
        done.append(last)
    return done


async def persistently(act: Callable[[], Awaitable[Recorded]]) -> Recorded:
    """Try again what ended temporarily."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await act()
            except Temporary:
                await asyncio.sleep(0.1)


class LogFaultsSuite:
    """Writing and reading while things break."""

    async def test_every_write_of_a_key_names_the_same_filter(self, world: World) -> None:
        log, job = await world.client(), Job()
        await log.append(job.submitted(), nothing(job.key))
        await log.append_all([Append(job.relabelled(), await basis(log, job))])
        stream = (await world.connect()).jetstream()
        for subject in ("submitted", "relabelled"):
            message = await stream.get_last_msg("EVENTS", job.subject(subject))
            assert message.headers is not None
            name = "Nats-Expected-Last-Subject-Sequence-Subject"
            assert message.headers[name] == job.key.condition

    async def test_a_stored_event_carries_what_others_filter_by(self, world: World) -> None:
        log, job = await world.client(), Job()
        event = job.submitted()
        await log.append(event.model_copy(update={"traceparent": TRACE}), nothing(job.key))
        stream = (await world.connect()).jetstream()
        message = await stream.get_last_msg("EVENTS", job.subject("submitted"))
        assert message.headers is not None
        assert message.headers["Nats-Msg-Id"] == event.id
        assert message.headers["ce-type"] == "muster.job.submitted.v1"
        assert message.headers["Content-Type"] == "application/cloudevents+json"
        assert message.headers["traceparent"] == TRACE

    async def test_the_same_event_appended_again_is_found_and_not_repeated(
        self, world: World
    ) -> None:
        log, job = await world.client(), Job()
        event = job.submitted()
        first = await log.append(event, nothing(job.key))
        assert (await log.append(event, nothing(job.key))).seq == first.seq
        await log.append(job.relabelled(), Basis(job.key, first.seq))
        assert (await log.append(event, nothing(job.key))).seq == first.seq
        assert len(await log.history(job.key)) == 2

    async def test_the_same_event_appended_twice_at_once_is_stored_once(self, world: World) -> None:
        one, other, job = await world.client(), await world.client(), Job()
        last = await one.append(job.submitted(), nothing(job.key))
        for _ in range(50):
            event, based_on = job.relabelled(), Basis(job.key, last.seq)
            last, again = await asyncio.gather(
                one.append(event, based_on), other.append(event, based_on)
            )
            assert again.seq == last.seq
        assert len(await one.history(job.key)) == 51

    @pytest.mark.case("BUS-12")
    @pytest.mark.sibling_of("BUS-04")
    async def test_an_append_whose_answer_was_lost_is_found_in_the_log(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, job = await lossy_client(world, relay), Job()
            first = await log.append(job.submitted(), nothing(job.key))
            relay.loses_answers = True
            event = job.relabelled()
            writing = asyncio.create_task(log.append(event, Basis(job.key, first.seq)))
            await seen_by(await world.client(), job, event.id)
            relay.heal()
            recorded = await writing
        assert ids(await (await world.client()).history(job.key))[1:] == [event.id]
        assert recorded.seq > first.seq

    async def test_it_is_found_behind_what_others_wrote_since(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, other, job = await lossy_client(world, relay), await world.client(), Job()
            first = await log.append(job.submitted(), nothing(job.key))
            relay.loses_answers = True
            event = job.relabelled()
            writing = asyncio.create_task(log.append(event, Basis(job.key, first.seq)))
            ours = await seen_by(other, job, event.id)
            for _ in range(3):
                last = await other.last(job.key, leader=True)
                assert last is not None
                await other.append(job.relabelled(), Basis(job.key, last.seq))
            relay.heal()
            recorded = await writing
        assert recorded.seq == ours.seq

    @pytest.mark.case("BUS-04")
    async def test_it_is_found_although_the_server_died_after_storing_it(
        self, world: World
    ) -> None:
        async with LossyRelay(world.port) as relay:
            log, job = await lossy_client(world, relay), Job()
            first = await log.append(job.submitted(), nothing(job.key))
            relay.loses_answers = True
            event = job.relabelled()
            writing = asyncio.create_task(log.append(event, Basis(job.key, first.seq)))
            ours = await seen_by(await world.client(), job, event.id)
            await world.strike()
            await world.recover()
            relay.heal()
            recorded = await writing
        assert recorded.seq == ours.seq
        assert len(await (await world.client()).history(job.key)) == 2

    async def test_an_append_that_never_arrived_arrives_once(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, job = await lossy_client(world, relay), Job()
            first = await log.append(job.submitted(), nothing(job.key))
            relay.loses_questions = True
            event = job.relabelled()
            writing = asyncio.create_task(log.append(event, Basis(job.key, first.seq)))
            await asyncio.sleep(0.5)
            relay.heal()
            await writing
        assert ids(await (await world.client()).history(job.key))[1:] == [event.id]

    async def test_an_append_that_lost_while_nobody_answered_is_a_conflict(
        self, world: World
    ) -> None:
        async with LossyRelay(world.port) as relay:
            log, other, job = await lossy_client(world, relay), await world.client(), Job()
            first = await log.append(job.submitted(), nothing(job.key))
            relay.loses_questions = True
            writing = asyncio.create_task(log.append(job.relabelled(), Basis(job.key, first.seq)))
            await asyncio.sleep(0.3)
            await other.append(job.relabelled(), Basis(job.key, first.seq))
            relay.heal()
            with pytest.raises(Conflict):
                await writing

    async def test_without_a_server_the_outcome_is_unknown(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, job = await lossy_client(world, relay, answer_s=0.2, patience_s=1.0), Job()
            relay.loses_questions = True
            with pytest.raises(UnknownOutcome):
                await log.append(job.submitted(), nothing(job.key))
            with pytest.raises(UnknownOutcome):
                await log.append_all([job.first()])
            relay.heal()

    async def test_a_batch_whose_answer_was_lost_is_not_sent_again(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, other, jobs = (
                await lossy_client(world, relay),
                await world.client(),
                [Job(), Job()],
            )
            await log.end()
            relay.loses_answers = True
            with pytest.raises(UnknownOutcome):
                await log.append_all([job.first() for job in jobs])
            relay.heal()
        for job in jobs:
            assert len(await other.history(job.key)) == 1

    async def test_a_batch_cut_in_the_middle_leaves_nothing(self, world: World) -> None:
        async with LossyRelay(world.port) as relay:
            log, other = await lossy_client(world, relay), await world.client()
            jobs = [Job() for _ in range(900)]
            await log.end()
            before = await other.end()
            writing = asyncio.create_task(log.append_all([job.first() for job in jobs]))
            await asyncio.sleep(0.01)
            relay.cut()
            try:
                done = len(await writing)
            except UnknownOutcome:
                done = 0
        after = await other.end()
        assert after - before in {done, len(jobs)}

    async def test_a_stale_read_is_repeated_at_the_leader(self, world: World) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 2)
        older = await log._reading.leader_next(job.key.condition, 1)

        async def lagging(pattern: str) -> object:
            return older

        log._reading.last = lagging  # type: ignore[assignment, method-assign]
        assert await log.last(job.key) == done_as_read(done[0], await log.history(job.key))
        fresh_read = await log.last(job.key, at_least=done[-1].seq)
        assert fresh_read is not None
        assert fresh_read.seq == done[-1].seq

    async def test_a_leader_that_is_behind_the_trigger_proves_nothing(self, world: World) -> None:
        log, job = await world.client(), Job()
        (first,) = await written(log, job, 1)
        with pytest.raises(Temporary):
            await log.last(job.key, at_least=first.seq + 1_000_000)

    async def test_many_writers_at_once_each_learn_what_became_of_theirs(
        self, world: World
    ) -> None:
        """Some of them write what somebody else has written already."""
        log, other = await world.client(), await world.client()
        jobs = [Job() for _ in range(120)]
        taken = jobs[::7]
        await other.append_all([job.first() for job in taken])
        results = await asyncio.gather(
            *(log.append(job.submitted(), nothing(job.key)) for job in jobs),
            return_exceptions=True,
        )
        for job, result in zip(jobs, results, strict=True):
            last = await other.last(job.key, leader=True)
            assert last is not None
            if job in taken:
                assert isinstance(result, Conflict)
            else:
                assert isinstance(result, Recorded)
                assert (last.seq, last.event) == (result.seq, result.event)

    async def test_many_writers_survive_a_strike(self, world: World) -> None:
        log = await world.client()
        jobs = [Job() for _ in range(40)]
        writing = [asyncio.create_task(appended(log, job, 20)) for job in jobs]
        await eventually(lambda: _length(world, jobs[0], 4))
        await world.strike()
        await asyncio.sleep(0.5)
        await world.recover()
        reader = await world.client()
        for job, done in zip(jobs, await asyncio.gather(*writing), strict=True):
            assert ids(await reader.history(job.key))[1:] == [each.event.id for each in done]

    async def test_appends_survive_a_strike(self, world: World) -> None:
        log, job = await world.client(), Job()
        writing = asyncio.create_task(appended(log, job, 400))
        await eventually(lambda: _length(world, job, 50))
        await world.strike()
        await asyncio.sleep(0.5)
        await world.recover()
        done = await writing
        history = await (await world.client()).history(job.key)
        assert ids(history)[1:] == [each.event.id for each in done]

    @pytest.mark.sibling_of("BUS-03")
    async def test_a_follower_survives_a_strike_without_gap_or_double(self, world: World) -> None:
        log, job = await world.client(), Job()
        follower = await (await world.client()).follow((job.key.condition,), after=await log.end())
        found: list[str] = []
        writing = asyncio.create_task(appended(log, job, 300))

        async def read() -> None:
            while not writing.done() or len(found) <= 300:
                try:
                    found.extend(ids(await follower.next(wait=0.2)))
                except Temporary:
                    await asyncio.sleep(0.1)

        reading = asyncio.create_task(read())
        await eventually(lambda: len(found) > 50)
        await world.strike()
        await asyncio.sleep(0.5)
        await world.recover()
        await writing
        async with asyncio.timeout(30):
            await reading
        assert found == ids(await (await world.client()).history(job.key))
        await follower.close()

    @pytest.mark.sibling_of("BUS-08")
    async def test_a_follower_whose_consumer_is_gone_makes_another(self, world: World) -> None:
        log, job = await world.client(), Job()
        follower = await log.follow((job.key.condition,), after=await log.end())
        await follower.next(wait=0.2)
        stream = (await world.connect()).jetstream()
        for consumer in await stream.consumers_info("EVENTS"):
            if consumer.name.startswith("follow-"):
                await stream.delete_consumer("EVENTS", consumer.name)
        done = await written(log, job, 2)
        started = asyncio.get_running_loop().time()
        assert ids(await everything(follower, done[-1].seq)) == [each.event.id for each in done]
        assert asyncio.get_running_loop().time() - started < 4
        await follower.close()

    async def test_an_alarm_rings_although_the_server_died_meanwhile(self, world: World) -> None:
        log, job = await world.client(), fresh()
        wanted = alarm(job, await log.now() + timedelta(seconds=2))
        await log.timer(wanted)
        await world.strike()
        await world.recover()
        assert await world.rung(wanted.rings_on, 1) == [wanted]

    @pytest.mark.sibling_of("RQT-12")
    async def test_an_old_leader_stays_out_after_a_strike(self, world: World) -> None:
        old, new, pool = await world.client(), await world.client(), fresh("p")
        first = await old.append(epoch(pool, 1), nothing(epoch_key(pool)))
        second = await new.append(epoch(pool, 2), Basis(epoch_key(pool), first.seq))
        await world.strike()
        await world.recover()
        with pytest.raises(Conflict):
            await persistently(
                lambda: old.append(epoch(pool, 3), Basis(epoch_key(pool), first.seq))
            )
        await persistently(lambda: new.append(epoch(pool, 3), Basis(epoch_key(pool), second.seq)))


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def basis(log: EventLog, job: Job) -> Basis:
    last = await log.last(job.key, leader=True)
    assert last is not None
    return Basis(job.key, last.head)


def done_as_read(recorded: Recorded, history: object) -> Recorded:
    """The first of a history, which has the stored time where an append has an estimate."""
    assert isinstance(history, list)
    first: Recorded = history[0]
    assert first.event == recorded.event
    return first


def relay_url(world: World, relay: LossyRelay) -> str:
    """The world's address, by way of the relay."""
    return world.url.split(",")[0].replace(f":{world.port}", f":{relay.port}")


async def lossy_client(
    world: World, relay: LossyRelay, *, answer_s: float = ANSWER_S, patience_s: float = PATIENCE_S
) -> JetStreamLog:
    connection = await world.connect(relay_url(world, relay))
    relay.before_exit(connection.close)
    return JetStreamLog(
        connection, answer_s=answer_s, patience_s=patience_s, group_commit=world.group_commit
    )


async def seen_by(log: EventLog, job: Job, event_id: str) -> Recorded:
    """Wait until an event is in the log."""

    async def look() -> Recorded | None:
        last = await log.last(job.key, leader=True)
        return last if last is not None and last.event.id == event_id else None

    seen = await eventually(look)
    assert seen is not None
    return seen


async def _length(world: World, job: Job, at_least: int) -> bool:
    return len(await (await world.client()).history(job.key)) >= at_least
