"""Two notifiers in virtual time, with crashes, pauses, repeats and a database that goes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.state import JobState
from muster.notifier import store
from muster.notifier.channels.port import Address
from muster.notifier.core.delivery import Delivery, DeliveryState, Fault, Form
from muster.notifier.core.limits import Limits
from muster.notifier.core.message import Message
from muster.notifier.core.notice import Kind, Notice, Trigger
from muster.notifier.core.rules import notices_for
from muster.notifier.rulebook import Rulebook
from muster.notifier.service import build
from muster.notifier.settings import NotifierSettings
from muster.runtime.service import Runtime, Service
from muster.testing.databases import in_memory
from muster.testing.dice import Dice
from muster.testing.faults import CALM, Faults, drawn
from muster.testing.gates import ProcessHooks
from muster.testing.process import ServicePlan
from muster.testing.steady import advance, settle
from muster.testing.walk import step
from muster.testing.world import Option, World
from tests.notifier.lives import EVERY, STATES, rule, submitted

# A process that is killed before its start ran leaves that coroutine unawaited: meant so.
pytestmark = pytest.mark.filterwarnings("ignore:.*was never awaited", "ignore:.*_start")

LIFE: tuple[f.Fact, ...] = (
    f.Admitted(),
    f.Scheduled(placement={"n0": ("worker-0", "worker-1")}),
    f.Launching(attempt=1),
    f.Started(attempt=1),
    f.Succeeded(attempt=1),
)
PARKED: tuple[f.Fact, ...] = (f.Admitted(), f.QueueTimedOut(entry=1))
ALSO = tuple(rule(trigger, prefix="s", address="dev") for trigger in STATES)
MOODS = (Fault.RATE, Fault.NO_REPLY, Fault.REFUSED, Fault.DISABLED, Fault.CONTENT)
RULES = (*EVERY, *ALSO)
ADDRESSES = {name: Address(SecretStr(f"https://bot.example/{name}")) for name in ("ops", "dev")}


@dataclass
class Jobs:
    """Surroundings: jobs that live on, one fact at a time, whenever the world chooses."""

    left: dict[str, list[f.Fact]]
    states: dict[str, JobState] = field(default_factory=dict)
    due: dict[str, Notice] = field(default_factory=dict)

    def options(self, world: World) -> Iterable[Option]:
        """One of them lives on."""
        ready = [job for job, facts in self.left.items() if facts]
        if ready:
            job = world.dice.one_of(ready)
            yield Option(1.0, f"{job} lives on", partial(self.live_on, world, job))

    def live_on(self, world: World, job: str) -> None:
        fact = self.left[job].pop(0)
        before = self.states.get(job) or submitted(job=job).state
        state = self.states[job] = evolve(before, fact, max(world.time.now(), before.since))
        event = job_event(
            state, fact, event_id=f"{job}-{state.version}", source="test", at=state.since
        )
        world.store.put(event.subject, event.to_bytes(), conditioned=True)
        self.due.update((n.id, n) for n in notices_for(fact.event, state, fact, state.since, RULES))

    def next_time(self, world: World) -> float | None:
        return None

    def pass_time(self, world: World) -> None:
        return None

    def end(self, world: World) -> None:
        for job in self.left:
            while self.left[job]:
                self.live_on(world, job)


@dataclass
class Post:
    """What arrived at the receiver, and how it answers."""

    dice: Dice
    moody: bool
    sent: Counter[str] = field(default_factory=Counter)
    arrived: Counter[str] = field(default_factory=Counter)
    unmarked: Counter[str] = field(default_factory=Counter)
    in_flight: Counter[str] = field(default_factory=Counter)
    crowded: bool = False

    def take(self, message: Message) -> Delivery:
        self.sent[message.id] += 1
        fault = Fault.NONE
        if self.moody and self.dice.chance(0.4):
            fault = self.dice.one_of(MOODS)
        if fault in {Fault.NONE, Fault.NO_REPLY}:
            self.arrived[message.id] += 1
            self.unmarked[message.id] += "重复发送" not in message.text
        return Delivery(fault)


@dataclass
class GatedChannel:
    """A way out that a world may stop before and after the receiver has the message."""

    hooks: ProcessHooks
    post: Post

    limits: Limits | None = None

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        assert address is not None
        in_flight = self.post.in_flight
        in_flight[address.label] += 1
        self.post.crowded |= in_flight[address.label] > 1
        await self.hooks.before("send")
        delivery = self.post.take(message)
        await self.hooks.after("send")
        in_flight[address.label] -= 1
        return delivery

    async def close(self) -> None:
        return None


@dataclass
class Play:
    """A world of two notifiers, its jobs and its receiver."""

    seed: int
    faults: Faults
    moody: bool

    def __post_init__(self) -> None:
        self.jobs = Jobs({f"j{i}": list(PARKED if i % 3 else LIFE) for i in range(5)})
        self.post = Post(Dice(self.seed + 1), self.moody)
        self.engine = in_memory()
        plan = ServicePlan("notifier", self._build, replicas=2, engine=lambda: self.engine)
        self.world = World(self.seed, [plan])
        settle(self.world)
        self.world.surroundings.append(self.jobs)

    def _build(self, runtime: Runtime, hooks: ProcessHooks) -> Service:
        channel = GatedChannel(hooks, self.post)
        book = Rulebook(RULES, ADDRESSES)
        settings = NotifierSettings(grouped=False, quiet_half_hours=False, senders=3)
        return build(runtime, settings, book=book, channels={"feishu": channel})

    def runs(self, steps: int = 400) -> None:
        self.world.faults = self.faults
        for _ in range(steps):
            step(self.world)
        self.world.faults = CALM
        self.jobs.end(self.world)
        advance(self.world, 3 * 86_400, until=self._at_rest)

    def _at_rest(self, world: World) -> bool:
        if any(durable.open for durable in world.bus.durables.values()):
            return False
        return all(state is not DeliveryState.PENDING for state, _, _ in self.rows.values())

    @property
    def rows(self) -> dict[str, tuple[DeliveryState, int, str]]:
        with self.engine.connect() as connection:
            news = store.deliveries.c.kind == Kind.NEWS.value
            found = connection.execute(sa.select(store.deliveries).where(news))
            return {r.notice: (DeliveryState(r.state), r.attempts, r.code) for r in found}


def check_truth(play: Play) -> None:
    """What must hold in every world."""
    rows = play.rows
    assert set(rows) == set(play.jobs.due), "a notice for each transition, and no other"
    assert play.world.bus.parked == [
        each for each in play.world.bus.parked if each.why == "unreadable"
    ]
    for notice, (state, attempts, code) in rows.items():
        assert state is not DeliveryState.PENDING
        assert play.post.unmarked[notice] <= 1, "what may be known already says so"
        assert play.post.sent[notice] <= attempts, "nobody sends without a claim"
        if state is DeliveryState.DELIVERED:
            assert play.post.arrived[notice] >= 1
        if state is DeliveryState.STALE and not play.moody:
            assert code == "stale"


@pytest.mark.parametrize("seed", range(40))
def test_whatever_goes_wrong_nobody_is_forgotten_or_told_by_two_at_once(seed: int) -> None:
    # a clock that goes back would put jobs before the beginning of the rules
    faults = replace(drawn(Dice(seed)), clock_step=0.0, skew=0.0)
    play = Play(seed, faults, moody=seed % 2 == 0)
    play.runs()
    check_truth(play)


REPEATS = Faults(double_delivery=0.4, lost_acknowledgement=0.4, burst=0.5)


@pytest.mark.parametrize("seed", range(20))
def test_while_nobody_dies_every_notice_is_sent_exactly_once(seed: int) -> None:
    play = Play(seed, REPEATS, moody=False)
    play.runs(600)
    check_truth(play)
    told = {key for key, row in play.rows.items() if row[0] is DeliveryState.DELIVERED}
    arrived = {key: count for key, count in play.post.arrived.items() if key in play.rows}
    assert arrived == dict.fromkeys(told, 1)
    spared = [play.jobs.due[key] for key in set(play.rows) - told]
    assert {play.rows[notice.id][0] for notice in spared} <= {DeliveryState.INHIBITED}
    parked = {n.subject for n in play.jobs.due.values() if n.trigger is Trigger.JOB_ABNORMAL}
    assert all(n.trigger is Trigger.JOB_QUEUED and n.subject in parked for n in spared)
    assert not play.post.crowded, "an address gets one notice at a time"
