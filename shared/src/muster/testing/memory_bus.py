"""The bus of a world: streams over the in-memory log, and what a process sees of them.

`MemoryBus` is the server: it routes what is stored to the durable consumers, and keeps answers and
parked messages. `ProcessBus` is one process's connection to it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from muster.bus import (
    ACCOUNT,
    NobodyAnswers,
    Question,
    Responder,
    Room,
    Subscription,
    Trigger,
)
from muster.bus.topology import Consumer, Stream
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.contracts.requests import Answer
from muster.domain.errors import Permanent
from muster.log.memory import Hooks, LogFault, Store, StoredEntry, matches
from muster.testing.durables import Delivery, Durable, Parked
from muster.testing.gates import ProcessDied, ProcessHooks
from muster.testing.virtual_time import VirtualTime


class MemoryBus:
    """The server's side: durable consumers, answers, parked messages."""

    def __init__(self, store: Store, time: VirtualTime) -> None:
        self._store, self._time = store, time
        self.durables: dict[str, Durable] = {}
        self.answers: dict[str, list[Answer]] = defaultdict(list)
        self.parked: list[Parked] = []
        self.broadcasts = 0
        self._desks: list[tuple[Responder, ProcessHooks]] = []
        self._routed = 0
        self._messages: dict[Stream, int] = defaultdict(int)
        self._routes: dict[tuple[str, int, str], tuple[Durable, ...]] = {}

    def open(self, consumer: Consumer) -> Durable:
        """Create a durable consumer unless it exists; a new one sees what the stream still has."""
        durable = self.durables.get(consumer.durable)
        if durable is None:
            durable = self.durables[consumer.durable] = Durable(consumer)
            self._routes.clear()
            self._catch_up(durable)
        return durable

    def _catch_up(self, durable: Durable) -> None:
        consumer = durable.consumer
        if consumer.stream is not Stream.EVENTS or consumer.new_only:
            return
        for entry in self._store.entries[: self._routed]:
            if _wants(consumer, Stream.EVENTS, entry.subject):
                self._give(durable, _trigger(entry))

    def collect(self) -> None:
        """Route what was stored since."""
        while self._routed < len(self._store.entries):
            entry = self._store.entries[self._routed]
            self._routed += 1
            found = self._route(Stream.EVENTS, entry.subject)
            if found:
                message = _trigger(entry)
                for durable in found:
                    self._give(durable, message)

    def _route(self, stream: Stream, subject: str) -> tuple[Durable, ...]:
        first, _, rest = subject.partition(".")
        shape = (first, rest.count("."), subject.rpartition(".")[2])
        if stream is Stream.TIMERS:
            shape = (first, rest.count("."), rest.partition(".")[0])
        if shape not in self._routes:
            self._routes[shape] = tuple(
                each for each in self.durables.values() if _wants(each.consumer, stream, subject)
            )
        return self._routes[shape]

    def _give(self, durable: Durable, message: Trigger) -> None:
        unreadable = message.event is None and message.alarm is None
        if unreadable and durable.consumer.stream is Stream.EVENTS:
            self.parked.append(Parked(durable.consumer, message, "unreadable"))
        else:
            durable.add(message)

    def publish(
        self, subject: str, body: bytes, headers: tuple[tuple[str, str], ...] = ()
    ) -> Trigger:
        """Store a request, as any outside system may."""
        self._messages[Stream.REQUESTS] += 1
        seq = self._messages[Stream.REQUESTS]
        message = Trigger(subject, seq, self._time.now(), 0, body, headers=headers)
        for durable in self._route(Stream.REQUESTS, subject):
            durable.add(message)
        return message

    def serve(self, responder: Responder, hooks: ProcessHooks) -> None:
        """Let a process answer questions for as long as it lives."""
        self._desks = [(one, life) for one, life in self._desks if not life.dead]
        self._desks.append((responder, hooks))

    def who_answers(self, subject: str) -> list[Responder]:
        """Return those who would answer a question now, one for each living replica."""
        return [
            responder
            for responder, life in self._desks
            if not life.dead and matches(subject, responder.desk.subjects)
        ]

    def room(self) -> tuple[Room, ...]:
        """Return how much the log holds."""
        bodies = [len(entry.body) for entry in self._store.entries]
        return tuple(Room(name, len(bodies), sum(bodies)) for name in (Stream.EVENTS, ACCOUNT))

    def ring(self, alarm: Alarm) -> None:
        """Deliver an alarm to its owner's consumer, once more."""
        self._messages[Stream.TIMERS] += 1
        seq = self._messages[Stream.TIMERS]
        body = alarm.to_bytes()
        message = Trigger(alarm.rings_on, seq, self._time.now(), 0, body, alarm=alarm)
        for durable in self._route(Stream.TIMERS, alarm.rings_on):
            durable.add(message)

    def due_alarms(self) -> list[Alarm]:
        """Return the alarms whose time has come by the server's clock."""
        now = self._time.now()
        return [alarm for alarm in self._store.alarms.values() if alarm.rings_at <= now]

    def take_alarm(self, alarm: Alarm) -> None:
        """The scheduled message is used up."""
        self._store.alarms.pop(alarm.waits_on, None)

    def park(self, parked: Parked | None) -> None:
        """Keep what nobody could handle."""
        if parked is not None:
            self.parked.append(parked)

    def replay(self, parked: Parked) -> Delivery:
        """Send a parked message to its consumer again, as a person would."""
        self.parked.remove(parked)
        return self.durables[parked.consumer.durable].add(replace(parked.message, delivered=0))


def _wants(consumer: Consumer, stream: Stream, subject: str) -> bool:
    return consumer.stream is stream and (
        not consumer.filters or matches(subject, consumer.filters)
    )


def _trigger(entry: StoredEntry) -> Trigger:
    return Trigger(entry.subject, entry.seq, entry.at, 0, entry.body, event=entry.event)


class ProcessBus:
    """One process's connection. Consuming is the world's business, so `consume` only refuses."""

    def __init__(self, bus: MemoryBus, hooks: Hooks) -> None:
        self._bus, self._hooks = bus, hooks

    async def consume(self, subscription: Subscription) -> None:
        """Not for services: a world reads `Service.subscriptions`."""
        raise TypeError(f"{subscription.consumer.durable}: subscriptions belong into Service")

    async def answer(self, answer: Answer) -> None:
        """See the port."""
        fault = await self._hooks.before("answer")
        if fault is not LogFault.LOST:
            subject = subjects.answer_subject(answer.tenant, answer.request)
            self._bus.answers[subject].append(answer)
        await self._hooks.after("answer")

    async def broadcast(self, subject: str, body: bytes) -> None:
        """See the port; nobody listens in a world, and it never suspends: it must not block."""
        self._bus.broadcasts += 1

    async def waiting(self, consumer: Consumer) -> int:
        """See the port."""
        await self._hooks.before("waiting")
        durable = self._bus.durables.get(consumer.durable)
        if durable is None:
            raise Permanent(f"there is no consumer {consumer.durable}")
        return len(durable.open)

    async def room(self) -> tuple[Room, ...]:
        """See the port; the memory of a world has no limit."""
        await self._hooks.before("room")
        return self._bus.room()

    async def serve(self, responder: Responder) -> None:
        """Not for services: a world reads `Service.responders`."""
        raise TypeError(f"{responder.desk.group}: responders belong into Service")

    async def ask(self, subject: str, body: bytes, timeout: float) -> bytes:
        """See the port; the first that lives answers, in the asker's own step."""
        fault = await self._hooks.before("ask")
        found = self._bus.who_answers(subject)
        if fault is LogFault.LOST or not found:
            raise NobodyAnswers(subject, timeout)
        try:
            answer = await found[0].answer(Question(subject, body))
        except ProcessDied:
            if found[0] in self._bus.who_answers(subject):
                raise  # it was the asker who died
            raise NobodyAnswers(subject, timeout) from None
        await self._hooks.after("ask")
        return answer
