"""What everybody relies on whose handler is woken by a message.

A subclass gives the fixture `world`: servers that can be struck.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from nats.aio.msg import Msg
from opentelemetry import trace
from prometheus_client import REGISTRY

from muster.bus import Answerer, NobodyAnswers, Question, Trigger
from muster.bus.topology import Consumer, Stream
from muster.contracts.requests import Answer
from muster.contracts.tracing import continued, traceparent
from muster.domain.errors import Conflict, Permanent, Temporary
from muster.log import Basis, nothing
from tests.contract.bus_desk import Desk, Heard, World
from tests.contract.log_events import Job, fresh
from tests.contract.log_suite import alarm
from tests.support.eventually import eventually

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EPSILON_S = 0.05


def saying(word: bytes, *errors: Exception) -> tuple[Answerer, list[Question]]:
    """Answers with a word, after it could not some times; and what it was asked."""
    asked, left = list[Question](), list(errors)

    async def answer(question: Question) -> bytes:
        asked.append(question)
        if left:
            raise left.pop(0)
        return word + question.body

    return answer, asked


def failing(*errors: Exception) -> Heard:
    """A handler that fails so, one error after the other, and then does no more."""
    left = list(errors)

    async def act(trigger: Trigger) -> None:
        if left:
            raise left.pop(0)

    return Heard(act)


class BusSuite:
    """Deliveries, failures, parking, replays."""

    @pytest.fixture
    async def desk(self, world: World) -> AsyncIterator[Desk]:
        desk = Desk(world)
        yield desk
        await desk.close()

    async def test_a_message_wakes_its_handler_once_and_is_done(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), Heard()
        subject = await desk.send("stop", b"body", {"Nats-Msg-Id": fresh(), "who": "ann"})
        await desk.listen(consumer, heard)
        await eventually(lambda: heard.triggers)
        (trigger,) = heard.triggers
        assert (trigger.subject, trigger.body, trigger.delivered) == (subject, b"body", 1)
        assert ("who", "ann") in trigger.headers
        assert trigger.seq > 0
        log = await desk.world.client()
        assert abs(await log.now() - trigger.at) < timedelta(seconds=10)
        await eventually(lambda: _is_idle(desk, consumer))

    @pytest.mark.parametrize(
        "content_type", ["application/json", "application/cloudevents+json", "text/plain", "x"]
    )
    async def test_whatever_the_content_type_says_the_bytes_arrive(
        self, desk: Desk, content_type: str
    ) -> None:
        consumer, heard = await desk.consumer(), Heard()
        await desk.listen(consumer, heard)
        for body in (b'{"a": 1}', b"1", b"\xff\xfe", b""):
            await desk.send("submit", body, {"content-type": content_type})
        await eventually(lambda: len(heard.triggers) == 4)
        assert {trigger.body for trigger in heard.triggers} == {b'{"a": 1}', b"1", b"\xff\xfe", b""}

    async def test_events_arrive_read(self, desk: Desk) -> None:
        log, job = await desk.world.client(), Job()
        consumer, heard = await desk.consumer(Stream.EVENTS, (job.key.condition,)), Heard()
        await desk.listen(consumer, heard)
        recorded = await log.append(job.submitted(), nothing(job.key))
        await eventually(lambda: heard.triggers)
        assert heard.triggers[0].event == recorded.event
        assert heard.triggers[0].seq == recorded.seq

    async def test_alarms_arrive_read(self, desk: Desk) -> None:
        log, job = await desk.world.client(), fresh()
        wanted = alarm(job, await log.now())
        consumer, heard = await desk.consumer(Stream.TIMERS, (wanted.rings_on,)), Heard()
        await desk.listen(consumer, heard)
        await log.timer(wanted)
        await eventually(lambda: heard.triggers)
        assert heard.triggers[0].alarm == wanted

    async def test_a_permanent_error_parks_at_the_first_delivery(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("no such thing"))
        await desk.listen(consumer, heard)
        subject = await desk.send("bad", b"\xffbody", {"who": "ann"})
        ((parked,), _) = await desk.parked(consumer), await desk.send("good")
        await eventually(lambda: len(heard.triggers) == 2)
        message = parked.message
        assert (message.stream, message.consumer) == (consumer.stream, consumer.durable)
        assert (message.subject, message.seq) == (subject, heard.triggers[0].seq)
        assert (message.reason, message.error) == ("no such thing", "Permanent")
        assert (message.deliveries, message.body) == (1, b"\xffbody")
        assert ("who", "ann") in message.headers
        assert message.at == heard.triggers[0].at
        await eventually(lambda: _is_idle(desk, consumer))

    async def test_an_unknown_exception_parks_after_five_deliveries_with_waits(
        self, desk: Desk
    ) -> None:
        consumer, heard = await desk.consumer(), failing(*(KeyError("job") for _ in range(9)))
        await desk.listen(consumer, heard)
        await desk.send("strange")
        (parked,) = await desk.parked(consumer)
        assert parked.message.deliveries == 5
        assert parked.message.error == "KeyError"
        assert [trigger.delivered for trigger in heard.triggers] == [1, 2, 3, 4, 5]
        for gap, wanted in zip(heard.gaps, (0.1, 0.2, 0.3, 0.4), strict=True):
            assert gap >= wanted - EPSILON_S

    @pytest.mark.parametrize("error", [Temporary("away", delay=0.1), Conflict("late")])
    @pytest.mark.case("BUS-06")
    async def test_what_is_temporary_is_never_parked_and_never_hot(
        self, desk: Desk, error: Exception
    ) -> None:
        consumer, heard = await desk.consumer(), failing(*(error for _ in range(8)))
        await desk.listen(consumer, heard)
        await desk.send("again")
        await eventually(lambda: len(heard.triggers) == 9)
        await eventually(lambda: _is_idle(desk, consumer))
        assert min(heard.gaps) >= 0.1 - EPSILON_S
        assert not await (await desk.parking()).list(consumer=consumer.durable)

    async def test_a_temporary_error_says_how_long(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Temporary("away", delay=1.5))
        await desk.listen(consumer, heard)
        await desk.send("later")
        await eventually(lambda: len(heard.triggers) == 2)
        assert 1.5 - EPSILON_S <= heard.gaps[0] < 3

    async def test_temporary_errors_are_not_held_against_a_message(self, desk: Desk) -> None:
        away: list[Exception] = [Temporary("away", delay=0.05) for _ in range(6)]
        strange: list[Exception] = [ValueError("x") for _ in range(4)]
        consumer, heard = await desk.consumer(), failing(*away, *strange)
        await desk.listen(consumer, heard)
        await desk.send("lucky")
        await eventually(lambda: len(heard.triggers) == 11)
        await eventually(lambda: _is_idle(desk, consumer))
        assert not await (await desk.parking()).list(consumer=consumer.durable)

    async def test_an_unreadable_event_is_parked_and_the_stream_goes_on(self, desk: Desk) -> None:
        log, job = await desk.world.client(), Job()
        consumer, heard = await desk.consumer(Stream.EVENTS, (job.key.condition,)), Heard()
        await desk.listen(consumer, heard)
        await desk.world.put(job.subject("started"), b"not an event")
        (parked,) = await desk.parked(consumer)
        assert parked.message.error == "UnreadableEvent"
        assert parked.message.text == "not an event"
        last = await log.history(job.key)
        await log.append(job.submitted(), Basis(job.key, last[-1].seq))
        await eventually(lambda: heard.triggers)
        assert heard.subjects == [job.subject("submitted")]

    async def test_an_unreadable_alarm_is_parked(self, desk: Desk) -> None:
        subject = f"alarms.requeue.queue.acme.{fresh()}"
        consumer, heard = await desk.consumer(Stream.TIMERS, (subject,)), Heard()
        await desk.listen(consumer, heard)
        await desk.world.put(subject, b'{"owner": "nobody"}')
        (parked,) = await desk.parked(consumer)
        assert parked.message.error == "UnreadableAlarm"
        assert not heard.triggers

    @pytest.mark.sibling_of("BUS-06")
    async def test_a_replay_reaches_the_handler_once_as_it_was(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("not yet"))
        await desk.listen(consumer, heard)
        await desk.send("fixed", b"body", {"who": "ann"})
        (parked,) = await desk.parked(consumer)
        await (await desk.parking()).replay(parked.number)
        await eventually(lambda: len(heard.triggers) == 2)
        await asyncio.sleep(0.3)
        first, again = heard.triggers
        assert (again.subject, again.seq, again.at) == (first.subject, first.seq, first.at)
        assert (again.body, again.headers) == (first.body, first.headers)
        assert not await (await desk.parking()).list(consumer=consumer.durable)

    async def test_a_replayed_event_is_read_again(self, desk: Desk) -> None:
        log, job = await desk.world.client(), Job()
        consumer = await desk.consumer(Stream.EVENTS, (job.key.condition,))
        heard = failing(Permanent("not yet"))
        await desk.listen(consumer, heard)
        await log.append(job.submitted(), nothing(job.key))
        (parked,) = await desk.parked(consumer)
        await (await desk.parking()).replay(parked.number)
        await eventually(lambda: len(heard.triggers) == 2)
        assert heard.triggers[1].event == heard.triggers[0].event

    async def test_a_replay_that_fails_is_parked_again(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("no"), Permanent("still no"))
        await desk.listen(consumer, heard)
        await desk.send("hopeless")
        (parked,) = await desk.parked(consumer)
        await (await desk.parking()).replay(parked.number)
        await eventually(lambda: len(heard.triggers) == 2)
        (again,) = await desk.parked(consumer)
        assert again.number > parked.number
        assert again.message.reason == "still no"
        assert again.message.stream == consumer.stream

    async def test_a_dropped_message_is_gone(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("no"))
        await desk.listen(consumer, heard)
        await desk.send("dropped")
        (parked,) = await desk.parked(consumer)
        parking = await desk.parking()
        assert (await parking.show(parked.number)).message == parked.message
        await parking.drop(parked.number)
        for act in (parking.show, parking.drop, parking.replay):
            with pytest.raises(Permanent):
                await act(parked.number)

    async def test_what_cannot_be_parked_is_not_lost(self, desk: Desk, world: World) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("no"))
        await desk.listen(consumer, heard)
        connection = await world.connect()
        await connection.jetstream().delete_stream(Stream.PARKED)
        await desk.send("bad")
        await eventually(lambda: heard.triggers)
        assert await desk.waiting(consumer) == 1
        await desk.provision(consumer)
        await desk.parked(consumer)
        await eventually(lambda: _is_idle(desk, consumer))

    @pytest.mark.case("BUS-09")
    async def test_a_long_handler_keeps_its_message(self, desk: Desk) -> None:
        async def slowly(trigger: Trigger) -> None:
            await asyncio.sleep(5)

        consumer = await desk.consumer(ack_wait=2)
        one, other = Heard(slowly), Heard(slowly)
        await desk.listen(consumer, one)
        await desk.listen(consumer, other)
        await desk.send("long")
        await eventually(lambda: _is_idle(desk, consumer))
        assert len(one.triggers) + len(other.triggers) == 1

    async def test_a_crash_before_the_end_lets_another_replica_do_it(self, desk: Desk) -> None:
        async def never(trigger: Trigger) -> None:
            await asyncio.sleep(3600)

        consumer, dying, living = await desk.consumer(ack_wait=1), Heard(never), Heard()
        bus = await desk.listen(consumer, dying)
        await desk.send("orphan")
        await eventually(lambda: dying.triggers)
        await desk.listen(consumer, living)
        await desk.crash(bus)
        await eventually(lambda: living.triggers)
        assert living.triggers[0].delivered > 1

    async def test_no_more_handlers_run_than_there_are_places(self, desk: Desk) -> None:
        async def briefly(trigger: Trigger) -> None:
            await asyncio.sleep(0.02)

        consumer, heard = await desk.consumer(in_flight=4), Heard(briefly)
        for _ in range(40):
            await desk.send("many")
        await desk.listen(consumer, heard)
        await eventually(lambda: len(heard.triggers) == 40)
        assert heard.most_busy == 4
        assert all(trigger.delivered == 1 for trigger in heard.triggers)

    async def test_a_slow_message_does_not_hold_up_the_others(self, desk: Desk) -> None:
        release = asyncio.Event()

        async def act(trigger: Trigger) -> None:
            if trigger.subject.endswith("slow"):
                await release.wait()

        consumer, heard = await desk.consumer(in_flight=4), Heard(act)
        await desk.listen(consumer, heard)
        await desk.send("slow")
        for _ in range(50):
            await desk.send("fast")
        await eventually(lambda: len(heard.triggers) == 51)
        release.set()

    @pytest.mark.case("BUS-19")
    async def test_messages_that_wait_for_their_next_try_do_not_hold_up_the_others(
        self, desk: Desk
    ) -> None:
        async def act(trigger: Trigger) -> None:
            if trigger.subject.endswith("stuck"):
                raise Temporary("away", delay=30)

        consumer, heard = await desk.consumer(in_flight=2), Heard(act)
        await desk.listen(consumer, heard)
        for _ in range(20):
            await desk.send("stuck")
        await desk.send("free")
        await eventually(lambda: heard.subjects.count(f"requests.{desk.tenant}.free") == 1)

    async def test_two_replicas_share_the_work(self, desk: Desk) -> None:
        async def briefly(trigger: Trigger) -> None:
            await asyncio.sleep(0.01)

        consumer, one, other = await desk.consumer(), Heard(briefly), Heard(briefly)
        await desk.listen(consumer, one)
        await desk.listen(consumer, other)
        for number in range(100):
            await desk.send(f"n{number}")
        await eventually(lambda: len(one.triggers) + len(other.triggers) == 100)
        assert len({*one.subjects, *other.subjects}) == 100
        assert min(len(one.triggers), len(other.triggers)) >= 10

    async def test_closing_lets_handlers_finish_and_takes_nothing_more(self, desk: Desk) -> None:
        async def briefly(trigger: Trigger) -> None:
            await asyncio.sleep(0.5)

        consumer, heard = await desk.consumer(in_flight=2), Heard(briefly)
        bus = await desk.listen(consumer, heard)
        for _ in range(6):
            await desk.send("work")
        await eventually(lambda: heard.busy == 2)
        await bus.close()
        done = len(heard.triggers)
        assert heard.busy == 0

        async def only_the_rest() -> bool:
            return await desk.waiting(consumer) == 6 - done

        await eventually(only_the_rest)
        await asyncio.sleep(0.3)
        assert len(heard.triggers) == done

    async def test_closing_leaves_nothing_on_its_way(self, desk: Desk) -> None:
        async def briefly(trigger: Trigger) -> None:
            await asyncio.sleep(0.002)

        consumer, one, other = await desk.consumer(ack_wait=60), Heard(briefly), Heard(briefly)
        sent = [await desk.send(f"n{number}") for number in range(300)]
        bus = await desk.listen(consumer, one)
        await eventually(lambda: len(one.triggers) > 50)
        await bus.close()
        await desk.listen(consumer, other)
        await eventually(lambda: {*one.subjects, *other.subjects} == set(sent), within=45)
        await eventually(lambda: _is_idle(desk, consumer))

    async def test_closing_hands_back_what_does_not_finish(self, desk: Desk) -> None:
        async def never(trigger: Trigger) -> None:
            await asyncio.sleep(3600)

        consumer, stuck, living = await desk.consumer(ack_wait=60), Heard(never), Heard()
        bus = await desk.listen(consumer, stuck)
        await desk.send("work")
        await eventually(lambda: stuck.triggers)
        closing = asyncio.create_task(bus.close())
        await desk.listen(consumer, living)
        await eventually(lambda: living.triggers)
        await closing

    async def test_an_answer_told_twice_is_kept_once(self, desk: Desk, world: World) -> None:
        consumer = await desk.consumer()
        bus = await desk.listen(consumer, Heard())
        log = await world.client()
        answer = Answer(
            request=fresh("r"), tenant=desk.tenant, verb="stop", accepted=True, at=await log.now()
        )
        await bus.answer(answer)
        await bus.answer(answer)
        stream = (await world.connect()).jetstream()
        subject = f"answers.{desk.tenant}.{answer.request}"
        stored = await stream.get_last_msg(Stream.ANSWERS, subject)
        assert Answer.model_validate_json(stored.data or b"") == answer
        info = await stream.stream_info(Stream.ANSWERS, subjects_filter=subject)
        assert info.state.subjects == {subject: 1}

    async def test_another_answer_to_the_same_request_takes_the_place_of_the_first(
        self, desk: Desk, world: World
    ) -> None:
        bus = await desk.listen(await desk.consumer(), Heard())
        at = await (await world.client()).now()
        request = fresh("r")
        yes = Answer(request=request, tenant=desk.tenant, verb="stop", accepted=True, at=at)
        no = yes.model_copy(update={"accepted": False})
        await bus.answer(yes)
        await bus.answer(no)
        stream = (await world.connect()).jetstream()
        stored = await stream.get_last_msg(Stream.ANSWERS, f"answers.{desk.tenant}.{request}")
        assert Answer.model_validate_json(stored.data or b"") == no

    async def test_a_broadcast_reaches_who_listens(self, desk: Desk, world: World) -> None:
        bus = await desk.listen(await desk.consumer(), Heard())
        heard: list[bytes] = []

        async def hear(message: Msg) -> None:
            heard.append(message.data)

        await (await world.connect()).subscribe(f"telemetry.{desk.tenant}", cb=hear)

        async def beat() -> bool:  # again, until every server knows of the listener
            await bus.broadcast(f"telemetry.{desk.tenant}", b"beat")
            return bool(heard)

        await eventually(beat)
        assert set(heard) == {b"beat"}

    async def test_the_handler_runs_in_the_trace_of_its_event(self, desk: Desk) -> None:
        seen: list[tuple[str | None, str]] = []

        async def look(trigger: Trigger) -> None:
            span = trace.get_current_span().get_span_context()
            seen.append((traceparent(), f"{span.trace_id:032x}"))

        log, job = await desk.world.client(), Job()
        consumer = await desk.consumer(Stream.EVENTS, (job.key.condition,))
        await desk.listen(consumer, look)
        event = job.submitted().model_copy(update={"traceparent": TRACE})
        await log.append(event, nothing(job.key))
        await eventually(lambda: seen)
        assert seen[0][1] == TRACE.split("-")[1]
        assert (seen[0][0] or "").split("-")[1] == TRACE.split("-")[1]

    async def test_labels_of_metrics_are_few(self, desk: Desk) -> None:
        consumer, heard = await desk.consumer(), failing(Permanent("no"))
        await desk.listen(consumer, heard)
        for number in range(5):
            await desk.send(f"n{number}")
        await eventually(lambda: len(heard.triggers) == 5)
        await desk.parked(consumer)
        name, durable = "muster_bus_messages_total", consumer.durable

        def counted(outcome: str) -> float | None:
            return REGISTRY.get_sample_value(name, {"durable": durable, "outcome": outcome})

        await eventually(lambda: counted("done") == 4)
        assert counted("parked") == 1

    @pytest.mark.case("BUS-08")
    async def test_it_is_not_ready_while_its_consumer_is_missing(
        self, desk: Desk, world: World
    ) -> None:
        consumer, heard = await desk.consumer(), Heard()
        bus = await desk.listen(consumer, heard)
        await bus.ready()
        stream = (await world.connect()).jetstream()
        await stream.delete_consumer(consumer.stream, consumer.durable)
        with pytest.raises(Temporary, match=consumer.durable):
            await bus.ready()
        with pytest.raises(Permanent):
            await bus.waiting(consumer)
        await desk.provision(consumer)
        await bus.ready()
        await desk.send("after")
        await eventually(lambda: heard.triggers)

    async def test_a_strike_loses_no_message(self, desk: Desk, world: World) -> None:
        consumer, heard = await desk.consumer(ack_wait=3), Heard()
        await desk.listen(consumer, heard)
        sent = [await desk.send(f"n{number}") for number in range(20)]
        await world.strike()
        await world.recover()
        sent += [await self._send_somehow(desk, f"m{number}") for number in range(20)]
        await eventually(lambda: set(heard.subjects) == set(sent), within=40)
        await eventually(lambda: _is_idle(desk, consumer), within=40)

    @staticmethod
    async def _send_somehow(desk: Desk, name: str) -> str:
        async def attempt() -> str:
            try:
                return await desk.send(name)
            except Exception:  # noqa: BLE001 - whatever a client meets during an election
                return ""

        return await eventually(attempt)

    async def test_a_closed_connection_does_not_spin(self, desk: Desk) -> None:
        bus = await desk.listen(await desk.consumer(), Heard())
        await desk.crash(bus)
        await asyncio.sleep(0.2)
        used = time.process_time()
        await asyncio.sleep(0.5)
        assert time.process_time() - used < 0.25

    async def test_a_question_is_answered_by_one_of_those_who_share_a_desk(
        self, desk: Desk
    ) -> None:
        answers = [saying(b"one "), saying(b"two ")]
        topics = [(await desk.serve(answer))[1] for answer, _ in answers]
        assert topics[0] == topics[1]
        asker = await desk.asker()
        heard = [await asker.ask(topics[0].subject, b"%d" % n, 5) for n in range(40)]
        assert len(heard) == sum(len(asked) for _, asked in answers) == 40
        assert all(asked for _, asked in answers)
        assert {word.split()[0] for word in heard} == {b"one", b"two"}
        assert answers[0][1][0].subject == topics[0].subject

    async def test_who_cannot_answer_now_is_asked_again(self, desk: Desk) -> None:
        answer, asked = saying(b"yes ", Temporary("reads the log"), Conflict("late"))
        _, topic = await desk.serve(answer)
        assert await (await desk.asker()).ask(topic.subject, b"q", 5) == b"yes q"
        assert len(asked) == 3

    async def test_what_is_refused_is_refused_at_once_with_its_reason(self, desk: Desk) -> None:
        answer, asked = saying(b"", Permanent("no such thing"), KeyError("a fault"))
        _, topic = await desk.serve(answer)
        asker = await desk.asker()
        with pytest.raises(Permanent, match="no such thing"):
            await asker.ask(topic.subject, b"q", 5)
        with pytest.raises(Permanent, match="a fault"):
            await asker.ask(topic.subject, b"q", 5)
        assert len(asked) == 2

    async def test_nobody_answers_within_the_time(self, desk: Desk) -> None:
        asker = await desk.asker()
        began = time.monotonic()
        with pytest.raises(NobodyAnswers, match="nobody answered queries"):
            await asker.ask(f"queries.{desk.tenant}.ask", b"q", 8)
        assert time.monotonic() - began < 4
        answer, _ = saying(b"", *(Temporary("reads the log") for _ in range(99)))
        _, topic = await desk.serve(answer)
        with pytest.raises(Temporary, match="reads the log"):
            await asker.ask(topic.subject, b"q", 0.5)

    async def test_a_replica_that_stops_leaves_its_questions_to_the_other(self, desk: Desk) -> None:
        (first, topic), _ = await desk.serve(saying(b"1")[0]), await desk.serve(saying(b"2")[0])
        await first.close()
        asker = await desk.asker()
        assert {await asker.ask(topic.subject, b"", 5) for _ in range(10)} == {b"2"}

    async def test_questions_and_answers_are_bounded(self, desk: Desk) -> None:
        answer, asked = saying(b"x" * 2_000_000)
        _, topic = await desk.serve(answer, most=1000)
        asker = await desk.asker()
        with pytest.raises(Permanent, match="1001 bytes; 1000 are the most"):
            await asker.ask(topic.subject, b"q" * 1001, 5)
        assert asked == []
        with pytest.raises(Permanent, match="the answer has 2000001 bytes"):
            await asker.ask(topic.subject, b"q", 5)
        with pytest.raises(Permanent, match="too many"):
            await asker.ask(topic.subject, b"q" * 3_000_000, 5)

    async def test_a_question_belongs_to_the_trace_of_who_asks(self, desk: Desk) -> None:
        answer, asked = saying(b"")
        _, topic = await desk.serve(answer)
        with continued(TRACE):
            await (await desk.asker()).ask(topic.subject, b"q", 5)
        (question,) = asked
        sent = dict(question.headers)["traceparent"]
        assert sent.split("-")[1] == TRACE.split("-")[1]


async def _is_idle(desk: Desk, consumer: Consumer) -> bool:
    return await desk.waiting(consumer) == 0
