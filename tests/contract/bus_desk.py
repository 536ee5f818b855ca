"""What a bus suite works with: a consumer of the test's own, replicas, messages, the parked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from nats.aio.client import Client

from muster.bus import Answerer, Handler, Responder, Subscription, Trigger
from muster.bus.faststream import FastStreamBus
from muster.bus.parking import Parked, Parking
from muster.bus.provision import provision
from muster.bus.retries import Retries
from muster.bus.topology import Consumer, Stream
from muster.bus.topology import Desk as Desk_
from muster.domain.edges import Owner
from tests.contract.log_events import fresh
from tests.contract.log_worlds import ClusterWorld, ServerWorld
from tests.support.eventually import eventually

World = ServerWorld | ClusterWorld
QUICK = Retries(backoff=(0.1, 0.2, 0.3, 0.4), conflicts=(0.1,), jitter=0)


@dataclass
class Heard:
    """A handler that notes what it got, and when, and then does what the test wants."""

    act: Handler | None = None
    triggers: list[Trigger] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    busy: int = 0
    most_busy: int = 0

    async def __call__(self, trigger: Trigger) -> None:
        self.triggers.append(trigger)
        self.times.append(asyncio.get_running_loop().time())
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            if self.act is not None:
                await self.act(trigger)
        finally:
            self.busy -= 1

    @property
    def subjects(self) -> list[str]:
        return [trigger.subject for trigger in self.triggers]

    @property
    def gaps(self) -> list[float]:
        """Seconds from each delivery to the next."""
        return [later - sooner for sooner, later in zip(self.times, self.times[1:], strict=False)]


@dataclass(frozen=True)
class Topic:
    """What a test asks about, and who shares the answering of it."""

    subject: str
    group: str


class Desk:
    """One test's consumer on a stream, and everything around it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tenant = fresh("t")
        self._buses: list[tuple[FastStreamBus, Client]] = []
        self._publisher: Client | None = None

    async def consumer(
        self,
        stream: Stream = Stream.REQUESTS,
        filters: tuple[str, ...] = (),
        *,
        ack_wait: float = 10,
        in_flight: int = 4,
    ) -> Consumer:
        """Make a durable consumer of the test's own."""
        chosen = filters or (f"requests.{self.tenant}.>",)
        consumer = Consumer(
            fresh("test-"), Owner.ADMISSION, stream, chosen, ack_wait=ack_wait, in_flight=in_flight
        )
        await self.provision(consumer)
        return consumer

    async def provision(self, *consumers: Consumer) -> None:
        """Make streams and these consumers."""
        publisher = await self._connection()
        await provision(publisher, replicas=self.world.replicas, consumers=consumers)

    async def listen(
        self, consumer: Consumer, handler: Handler, retries: Retries = QUICK
    ) -> FastStreamBus:
        """Start a replica that handles the consumer's messages."""
        connection = await self.world.connect()
        bus = FastStreamBus(connection, retries=retries, graceful_s=5)
        self._buses.append((bus, connection))
        await bus.consume(Subscription(consumer, handler))
        return bus

    async def serve(self, answer: Answerer, *, most: int = 262_144) -> tuple[FastStreamBus, Topic]:
        """Start a replica that answers questions about this test's own topic."""
        topic = Topic(f"queries.{self.tenant}.ask", f"{self.tenant}-desk")
        connection = await self.world.connect()
        bus = FastStreamBus(connection, graceful_s=5)
        self._buses.append((bus, connection))
        desk = Desk_(topic.group, Owner.SCHEDULER, (topic.subject,), most_bytes=most)
        await bus.serve(Responder(desk, answer))
        await connection.flush()
        return bus, topic

    async def asker(self) -> FastStreamBus:
        """Return a bus that asks."""
        return FastStreamBus(await self._connection())

    async def crash(self, bus: FastStreamBus) -> None:
        """End a replica as a kill does: whatever its handlers do, the server hears no more."""
        found = next(connection for each, connection in self._buses if each is bus)
        await found.close()

    async def send(
        self, name: str, body: bytes = b"{}", headers: dict[str, str] | None = None
    ) -> str:
        """Publish a request; returns its subject."""
        subject = f"requests.{self.tenant}.{name}"
        publisher = await self._connection()
        await publisher.jetstream().publish(subject, body, headers=headers)
        return subject

    async def parked(self, consumer: Consumer, count: int = 1) -> Sequence[Parked]:
        """Wait until so many messages of a consumer are parked."""
        parking = await self.parking()

        async def look() -> Sequence[Parked]:
            found = await parking.list(consumer=consumer.durable)
            return found if len(found) >= count else ()

        return await eventually(look)

    async def parking(self) -> Parking:
        return Parking(await self._connection())

    async def waiting(self, consumer: Consumer) -> int:
        """How many messages a consumer has still to handle."""
        return await FastStreamBus(await self._connection()).waiting(consumer)

    async def _connection(self) -> Client:
        if self._publisher is None:
            self._publisher = await self.world.connect()
        return self._publisher

    async def close(self) -> None:
        """Stop every replica."""
        for bus, _ in self._buses:
            await bus.close()
