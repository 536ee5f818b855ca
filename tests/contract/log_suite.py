"""What everybody relies on who reads or writes the log, whatever it runs on.

A subclass gives the fixture `world`. Each test has jobs and pools of its own, so that one server
can serve them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.edges import Owner
from muster.domain.errors import Conflict, Permanent
from muster.domain.state import DeadlineKind
from muster.log import Append, Basis, EventLog, Follower, Recorded, Unreadable, nothing
from tests.contract.log_events import Job, decided, epoch, epoch_key, fresh
from tests.contract.log_worlds import LogWorld
from tests.support.eventually import eventually

RACES = 300
RACERS = 3


async def everything(follower: Follower, upto: int) -> list[Recorded | Unreadable]:
    """Read on until the position has reached a sequence."""
    found: list[Recorded | Unreadable] = []
    async with asyncio.timeout(30):
        while follower.position < upto:
            found += await follower.next(wait=0.2)
    return found


async def written(log: EventLog, job: Job, count: int) -> list[Recorded]:
    """Append `submitted` and some `relabelled`."""
    done = [await log.append(job.submitted(), nothing(job.key))]
    for _ in range(count - 1):
        done.append(await log.append(job.relabelled(), Basis(job.key, done[-1].seq)))
    return done


def alarm(job: str, at: datetime, version: int = 1) -> Alarm:
    return Alarm.model_validate(
        {
            "owner": Owner.REQUEUE,
            "kind": DeadlineKind.QUEUE,
            "tenant": "acme",
            "job": job,
            "version": version,
            "at": at,
        }
    )


def ids(items: Sequence[Recorded | Unreadable]) -> list[str]:
    return [item.event.id for item in items if isinstance(item, Recorded)]


class LogSuite:
    """Reading and writing when nothing breaks."""

    async def test_a_key_without_events_has_no_last_and_no_history(self, world: LogWorld) -> None:
        log = await world.client()
        assert await log.last(Job().key) is None
        assert await log.last(Job().key, leader=True) is None
        assert await log.history(Job().key) == []

    async def test_what_was_appended_is_what_is_read(self, world: LogWorld) -> None:
        log, other, job = await world.client(), await world.client(), Job()
        event = job.submitted()
        recorded = await log.append(event, nothing(job.key))
        read = await other.last(job.key, at_least=recorded.seq)
        assert read is not None
        assert read.event == event
        assert (read.seq, read.head) == (recorded.seq, recorded.seq)
        assert abs(read.at - recorded.at) < timedelta(seconds=1)
        assert await other.last(job.key, leader=True) == read

    async def test_last_is_the_newest_of_all_subjects_of_a_key(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 3)
        last = await log.last(job.key, at_least=done[-1].seq)
        assert last is not None
        assert last.event.subject == job.subject("relabelled")
        assert last.seq == done[-1].seq

    @pytest.mark.parametrize("leader", [False, True])
    @pytest.mark.case("BUS-12")
    async def test_a_write_based_on_an_older_fact_is_refused(
        self, world: LogWorld, leader: bool
    ) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 2)
        with pytest.raises(Conflict):
            await log.append(job.relabelled(), Basis(job.key, done[0].seq))
        last = await log.last(job.key, at_least=done[-1].seq, leader=leader)
        assert last is not None
        assert last.seq == done[-1].seq

    async def test_a_first_write_is_refused_where_there_is_something(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        await log.append(job.submitted(), nothing(job.key))
        with pytest.raises(Conflict):
            await log.append(job.relabelled(), nothing(job.key))

    async def test_a_write_based_on_a_fact_that_never_was_is_refused(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        with pytest.raises(Conflict):
            await log.append(job.submitted(), Basis(job.key, 1))

    async def test_other_keys_do_not_stand_in_the_way(self, world: LogWorld) -> None:
        log, job, other = await world.client(), Job(), Job()
        first = await log.append(job.submitted(), nothing(job.key))
        await log.append(other.submitted(), nothing(other.key))
        await log.append(job.relabelled(), Basis(job.key, first.seq))

    async def test_a_name_that_begins_like_another_is_another_key(self, world: LogWorld) -> None:
        log, pool = await world.client(), fresh("p")
        await log.append(epoch(pool, 1), nothing(epoch_key(pool)))
        longer = f"{pool}x"
        await log.append(epoch(longer, 1), nothing(epoch_key(longer)))

    async def test_of_writers_for_one_next_event_exactly_one_wins(self, world: LogWorld) -> None:
        racers = [await world.client() for _ in range(RACERS)]
        job = Job()
        last = await racers[0].append(job.submitted(), nothing(job.key))
        for _ in range(RACES):
            results = await asyncio.gather(
                *(log.append(job.relabelled(), Basis(job.key, last.seq)) for log in racers),
                return_exceptions=True,
            )
            won = [result for result in results if isinstance(result, Recorded)]
            lost = [result for result in results if isinstance(result, Conflict)]
            assert (len(won), len(lost)) == (1, RACERS - 1), results
            last = won[0]
        history = await racers[1].history(job.key)
        assert len(history) == RACES + 1

    async def test_a_batch_is_written_whole_and_without_gaps(self, world: LogWorld) -> None:
        log, jobs = await world.client(), [Job() for _ in range(5)]
        done = await log.append_all([job.first() for job in jobs])
        assert [each.seq for each in done] == list(range(done[0].seq, done[0].seq + 5))
        for job, recorded in zip(jobs, done, strict=True):
            assert await log.last(job.key, leader=True) == Recorded(
                recorded.event, recorded.seq, await stored_at(log, job.key), recorded.seq
            )

    async def test_one_stale_condition_leaves_nothing_of_a_batch(self, world: LogWorld) -> None:
        log, jobs, taken = await world.client(), [Job() for _ in range(4)], Job()
        await log.append(taken.submitted(), nothing(taken.key))
        before = await log.end()
        with pytest.raises(Conflict):
            await log.append_all([*(job.first() for job in jobs), taken.first()])
        assert await log.end() == before
        for job in jobs:
            assert await log.last(job.key, leader=True) is None

    async def test_two_events_of_one_job_fit_in_one_batch(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        first, second = job.first(), Append(job.admitted(), None)
        done = await log.append_all([first, second])
        assert ids(await log.history(job.key)) == [first.event.id, second.event.id]
        last = await log.last(job.key, at_least=done[1].seq)
        assert last is not None
        assert last.seq == done[1].seq

    async def test_of_batches_at_the_same_time_each_is_written_or_refused_by_itself(
        self, world: LogWorld
    ) -> None:
        log, jobs = await world.client(), [Job() for _ in range(40)]
        for job in jobs[::8]:
            await log.append(job.submitted(), nothing(job.key))
        batches = [[job.first(), Append(job.admitted(), None)] for job in jobs]
        outcomes = await asyncio.gather(*map(log.append_all, batches), return_exceptions=True)
        for job, batch, outcome in zip(jobs, batches, outcomes, strict=True):
            history = await log.history(job.key)
            if job in jobs[::8]:
                assert isinstance(outcome, Conflict)
                assert len(history) == 1
            else:
                assert not isinstance(outcome, BaseException)
                assert ids(history) == [append.event.id for append in batch]
                assert [each.seq for each in history] == [each.seq for each in outcome]

    async def test_a_batch_of_one_is_a_batch(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        (done,) = await log.append_all([job.first()])
        last = await log.last(job.key, leader=True)
        assert last is not None
        assert last.seq == done.seq

    async def test_an_empty_batch_writes_nothing(self, world: LogWorld) -> None:
        log = await world.client()
        before = await log.end()
        assert list(await log.append_all([])) == []
        assert await log.end() == before

    async def test_a_thousand_events_are_one_batch_and_one_more_is_refused(
        self, world: LogWorld
    ) -> None:
        log, jobs = await world.client(), [Job() for _ in range(1001)]
        with pytest.raises(Permanent):
            await log.append_all([job.first() for job in jobs])
        done = await log.append_all([job.first() for job in jobs[:1000]])
        assert len(done) == 1000

    async def test_an_old_leader_gets_nothing_in_after_the_new_epoch(self, world: LogWorld) -> None:
        old, new, pool = await world.client(), await world.client(), fresh("p")
        first = await old.append(epoch(pool, 1, "old"), nothing(epoch_key(pool)))
        await old.append_all([Job().first()], fence=decided(pool, 1, first.seq))
        second = await new.append(epoch(pool, 2, "new"), Basis(epoch_key(pool), first.seq))
        for _ in range(20):
            late = Job()
            with pytest.raises(Conflict):
                await old.append_all([late.first()], fence=decided(pool, 1, first.seq))
            assert await new.last(late.key, leader=True) is None
            await new.append_all([Job().first()], fence=decided(pool, 2, second.seq))

    async def test_the_fence_itself_is_not_returned(self, world: LogWorld) -> None:
        log, pool, job = await world.client(), fresh("p"), Job()
        taken = await log.append(epoch(pool, 1), nothing(epoch_key(pool)))
        fence = decided(pool, 1, taken.seq)
        done = await log.append_all([job.first()], fence=fence)
        assert [each.event.subject for each in done] == [job.subject("submitted")]
        key = subjects.pool_key(pool, "decided")
        last = await log.last(key, leader=True)
        assert last is not None
        assert last.event == fence.event

    async def test_behind_an_unreadable_message_the_newest_event_is_found(
        self, world: LogWorld
    ) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 2)
        await world.put(job.subject("relabelled"), b"not an event")
        last = await log.last(job.key, leader=True)
        assert last is not None
        assert last.seq == done[-1].seq
        assert last.head > last.seq
        assert await log.last(job.key, at_least=last.head) == last
        after = await log.append(job.relabelled(), Basis(job.key, last.head))
        history = await log.history(job.key)
        assert [type(item) for item in history] == [Recorded, Recorded, Unreadable, Recorded]
        assert history[-1].seq == after.seq

    async def test_a_key_with_nothing_readable_has_no_last_but_a_head(
        self, world: LogWorld
    ) -> None:
        log, job = await world.client(), Job()
        await world.put(job.subject("submitted"), b"{}")
        assert await log.last(job.key, leader=True) is None
        with pytest.raises(Conflict):
            await log.append(job.submitted(), nothing(job.key))

    async def test_history_is_everything_of_a_key_in_order(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 300)
        history = await (await world.client()).history(job.key)
        assert ids(history) == [each.event.id for each in done]
        assert [item.seq for item in history] == [each.seq for each in done]

    async def test_a_follower_reads_what_matches_in_order(self, world: LogWorld) -> None:
        log, job, pool = await world.client(), Job(), fresh("p")
        start = await log.end()
        await written(log, job, 2)
        await log.append(epoch(pool, 1), nothing(epoch_key(pool)))
        await log.append_all([Job().first(), Job().first()])
        end = await log.end()
        follower = await log.follow((f"jobs.acme.{job.name}.>", f"pools.{pool}.>"), after=start)
        found = await everything(follower, end)
        subjects_found = [
            item.event.subject if isinstance(item, Recorded) else item.subject for item in found
        ]
        assert subjects_found == [
            job.subject("submitted"),
            job.subject("relabelled"),
            f"pools.{pool}.epoch",
        ]
        assert follower.position >= end
        await follower.close()

    async def test_a_follower_gives_more_than_one_page(self, world: LogWorld) -> None:
        log, jobs = await world.client(), [Job() for _ in range(1000)]
        start = await log.end()
        done = await log.append_all([job.first() for job in jobs])
        follower = await log.follow(("jobs.>",), after=start)
        found = await everything(follower, done[-1].seq)
        assert ids(found) == [each.event.id for each in done]
        await follower.close()

    async def test_a_follower_starts_after_its_position(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 3)
        follower = await log.follow((job.key.condition,), after=done[0].seq)
        assert follower.position == done[0].seq
        found = await everything(follower, done[-1].seq)
        assert ids(found) == [each.event.id for each in done[1:]]
        await follower.close()

    async def test_a_follower_hears_what_is_written_later(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        follower = await log.follow((job.key.condition,), after=await log.end())
        assert list(await follower.next()) == []
        done = await written(log, job, 2)
        assert ids(await everything(follower, done[-1].seq)) == [each.event.id for each in done]
        await follower.close()

    async def test_a_follower_passes_what_it_does_not_look_for(self, world: LogWorld) -> None:
        log = await world.client()
        follower = await log.follow((Job().key.condition,), after=0)
        await log.append_all([Job().first() for _ in range(3)])
        assert await everything(follower, await log.end()) == []
        await follower.close()

    async def test_a_follower_tells_of_what_it_cannot_read(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        (first,) = await written(log, job, 1)
        await world.put(job.subject("started"), b"\xff")
        end = await log.end()
        follower = await log.follow((job.key.condition,), after=first.seq - 1)
        read, unreadable = await everything(follower, end)
        assert isinstance(read, Recorded)
        assert isinstance(unreadable, Unreadable)
        assert unreadable.subject == job.subject("started")
        await follower.close()

    async def test_the_end_is_the_last_sequence(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        recorded = await log.append(job.submitted(), nothing(job.key))
        assert await log.end() == recorded.seq

    async def test_trimming_keeps_the_named_event_and_what_follows(self, world: LogWorld) -> None:
        log, job, other = await world.client(), Job(), Job()
        done = await written(log, job, 4)
        kept = await written(log, other, 2)
        await log.trim(job.key, before=done[2].seq)
        left = [each.event.id for each in done[2:]]

        async def is_trimmed() -> bool:
            return ids(await log.history(job.key)) == left  # a replica may trim a little later

        await eventually(is_trimmed)
        assert ids(await log.history(other.key)) == [each.event.id for each in kept]
        with pytest.raises(Conflict):
            await log.append(job.relabelled(), nothing(job.key))

    async def test_trimming_never_leaves_a_key_empty(self, world: LogWorld) -> None:
        log, job = await world.client(), Job()
        done = await written(log, job, 2)
        with pytest.raises(Permanent):
            await log.trim(job.key, before=done[-1].seq + 1)
        assert len(await log.history(job.key)) == 2

    async def test_an_alarm_rings_at_its_time_with_what_it_was_set_for(
        self, world: LogWorld
    ) -> None:
        log, job = await world.client(), fresh()
        wanted = alarm(job, await log.now() + timedelta(seconds=0.6), version=7)
        await log.timer(wanted)
        assert await world.rung(wanted.rings_on, 1) == [wanted]
        assert await log.now() >= wanted.at

    async def test_an_alarm_in_the_past_rings_now(self, world: LogWorld) -> None:
        log, job = await world.client(), fresh()
        wanted = alarm(job, await log.now() - timedelta(hours=1))
        await log.timer(wanted)
        assert await world.rung(wanted.rings_on, 1) == [wanted]

    async def test_a_later_alarm_of_the_same_job_replaces_the_earlier(
        self, world: LogWorld
    ) -> None:
        log, job = await world.client(), fresh()
        now = await log.now()
        await log.timer(alarm(job, now + timedelta(seconds=0.5), version=1))
        second = alarm(job, now + timedelta(seconds=1.0), version=2)
        await log.timer(second)
        assert await world.rung(second.rings_on, 1) == [second]
        await world.pass_time(0.5)
        assert await world.rung(second.rings_on, 1) == [second]

    async def test_the_clock_goes_forward(self, world: LogWorld) -> None:
        log = await world.client()
        first = await log.now()
        await world.pass_time(0.05)
        assert timedelta(seconds=0.04) < await log.now() - first < timedelta(seconds=5)


async def stored_at(log: EventLog, key: subjects.Key) -> datetime:
    """When the last event of a key was stored."""
    last = await log.last(key, leader=True)
    assert last is not None
    return last.at
