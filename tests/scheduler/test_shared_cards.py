"""Workers that share a card: they are on one card, and no card gives more than it has."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD, Need, Room
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.scoring import POLICIES
from muster.scheduler.core.verdicts import Plan
from tests.scheduler.small_world import futures
from tests.scheduler.worlds import at, decide, decisions, launched, node, queued, role, world


def sharing(name: str, milli: int, workers: int = 1, **more: object) -> JobState:
    """A job whose workers ask for a part of a card each."""
    return queued(name, roles=(role(replicas=workers, gpus=0, gpu_milli=milli),), **more)  # type: ignore[arg-type]


def placed(state: JobState, made: Plan, when: float = -1) -> JobState:
    """Carry out what a plan says of a job."""
    return evolve(state, decisions(made)[state.job], at(when))


def runs(state: JobState, made: Plan) -> JobState:
    """Let a job run where a plan puts it."""
    up = launched(placed(state, made), 0)
    return evolve(up, f.Started(attempt=up.attempt), at(0))


def cards(made: Plan) -> dict[str, dict[str, int]]:
    """Return the cards of each placed job."""
    return {
        job: dict(fact.cards)
        for job, fact in decisions(made).items()
        if isinstance(fact, f.Scheduled)
    }


def test_workers_fill_a_card_before_they_open_another() -> None:
    made = decide([node("n1", gpus=2)], [sharing("j", 400, workers=4)])
    assert Counter(cards(made)["j"].values()) == {0: 2, 1: 2}


@pytest.mark.parametrize(("milli", "most"), [(1, 1000), (999, 1), (500, 2), (501, 1), (333, 3)])
def test_a_card_gives_no_more_than_it_has(milli: int, most: int) -> None:
    one = node("n1", gpus=1, cpus=0)
    need = role(replicas=most, gpus=0, gpu_milli=milli)
    more = role(replicas=most + 1, gpus=0, gpu_milli=milli)
    assert set(cards(decide([one], [queued("j", roles=(need,))]))) == {"j"}
    assert decide([one], [queued("j", roles=(more,))]).moves == ()


def test_what_is_left_of_two_cards_is_not_one_part() -> None:
    nodes = [node("n1", gpus=2)]
    first = sharing("a", 600, workers=2)
    held = runs(first, decide(nodes, [first]))
    assert decide(nodes, [held, sharing("b", 500)]).moves == ()
    assert set(cards(decide(nodes, [held, sharing("b", 400)]))) == {"b"}


def test_a_shared_card_is_no_whole_one() -> None:
    nodes = [node("n1", gpus=2)]
    part = sharing("a", 1)
    held = runs(part, decide(nodes, [part]))
    assert decide(nodes, [held, queued("whole", gpus=2)]).moves == ()
    assert set(cards(decide(nodes, [held, queued("whole", gpus=1)]))) == {"whole"}


def test_a_number_is_not_given_to_two_cards() -> None:
    nodes = [node("n1", gpus=3)]
    first = sharing("a", 700)
    held = runs(first, decide(nodes, [first]))
    made = decide(nodes, [held, sharing("b", 700), sharing("c", 300)])
    assert cards(made) == {"b": {"worker-0": 1}, "c": {"worker-0": 0}}


def test_the_smallest_free_number_is_used_again() -> None:
    nodes = [node("n1", gpus=3)]
    first, second = sharing("a", 700), sharing("b", 700)
    made = decide(nodes, [first, second])
    stays = runs(second, made)
    assert stays.cards == {"worker-0": 1}
    assert cards(decide(nodes, [stays, sharing("c", 700)])) == {"c": {"worker-0": 0}}


def test_a_card_is_shared_with_who_stays_not_with_who_leaves() -> None:
    nodes = [node("n1", gpus=1)]
    low = sharing("low", 600, priority=10)
    made = decide(nodes, [low])
    holds = runs(low, made)
    high = sharing("high", 700, priority=90)
    taken = decide(nodes, [holds, high])
    facts = decisions(taken)
    assert isinstance(facts["low"], f.Preempted)
    assert isinstance(facts["high"], f.Scheduled)
    states = [placed(holds, taken), placed(high, taken)]
    # the victim may still be there, and so may the beneficiary a moment later: nobody fits between
    assert decide(nodes, [*states, sharing("third", 301, kind="idle")]).moves == ()


def test_a_worker_whose_card_is_not_known_counts_as_a_whole_one() -> None:
    nodes = [node("n1", gpus=1)]
    first = sharing("a", 100)
    held = runs(first, decide(nodes, [first])).model_copy(update={"cards": {}})
    assert decide(nodes, [held, sharing("b", 100)]).moves == ()


class SharedWorld:
    """A small pool of shared and whole cards that lives. All choices come from the dice."""

    def __init__(self, seed: int) -> None:
        self.dice, self.now, self._count = Random(seed), 0.0, 0
        self.nodes: dict[str, NodeState] = {
            f"n{i}": node(f"n{i}", gpus=self.dice.randint(1, 3))
            for i in range(self.dice.randint(1, 3))
        }
        self.books: dict[str, JobState] = {}
        self.policy = Policy(placement=self.dice.choice(POLICIES))

    def live(self) -> None:
        """Arrive, plan, carry out, and let some go on."""
        self.now += 5
        for _ in range(self.dice.randint(0, 3)):
            self._arrive()
        jobs = [s for s in self.books.values() if s.held or s.phase == "queued"]
        self.dice.shuffle(jobs)
        for move in plan(world(self.nodes.values(), jobs, self.now), self.policy).moves:
            for one in move.decisions:
                self._happen(one.job[1], one.fact)

    def _arrive(self) -> None:
        self._count += 1
        whole = self.dice.random() < 0.3
        parts = role(
            replicas=self.dice.randint(1, 3),
            gpus=1 if whole else 0,
            gpu_milli=0 if whole else self.dice.choice([1, 250, 400, 500, 750, 999]),
        )
        name = f"j{self._count}"
        kind = self.dice.choice(["on_demand", "spot", "idle"])
        priority = self.dice.choice([10, 50, 90])
        self.books[name] = queued(
            name, roles=(parts,), kind=kind, priority=priority, entered=self.now
        )

    def _happen(self, name: str, fact: f.Fact) -> None:
        self.books[name] = evolve(self.books[name], fact, at(self.now))

    def go_on(self) -> None:
        """Let jobs launch, run, end and leave."""
        for name in sorted(self.books):
            state = self.books[name]
            if self.dice.random() < 0.5 or not state.held:
                continue
            if state.phase == "starting" and not state.launched and not self._waits(state):
                self._happen(name, f.Launching(attempt=state.attempt))
            elif state.phase == "starting" and state.launched:
                self._happen(name, f.Started(attempt=state.attempt))
            elif state.phase == "running" and self.dice.random() < 0.3:
                self._happen(name, f.Succeeded(attempt=state.attempt))
            elif state.terminal or state.phase == "evicting":
                self._happen(name, f.Released(attempt=state.attempt))

    def _waits(self, state: JobState) -> bool:
        return any(self.books[wait.job].held for wait in state.waits_for)


def overfull(nodes: dict[str, NodeState], states: list[JobState]) -> list[str]:
    """Return what is over capacity if these jobs have processes."""
    whole: Counter[str] = Counter()
    used: Counter[tuple[str, int]] = Counter()
    for state in states:
        for worker, name in state.placed_on.items():
            need = state.demand.role_of(worker)
            whole[name] += need.gpus
            if need.gpu_milli:
                used[name, state.cards[worker]] += need.gpu_milli
    faults = [f"card {card}" for card, milli in used.items() if milli > CARD]
    for name, one in nodes.items():
        shared = sum(on == name for on, _ in used)
        if whole[name] + shared > one.shape.gpus:
            faults.append(name)
    return faults


@settings(max_examples=120, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_no_card_and_no_node_is_over_its_capacity_in_any_state_that_can_follow(seed: int) -> None:
    small = SharedWorld(seed)
    for _ in range(10):
        small.live()
        for states in futures(small.books):
            assert overfull(small.nodes, states) == []
        small.go_on()


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 4),
    st.lists(st.integers(1, 999), max_size=5),
    st.integers(1, 999),
)
def test_a_room_holds_as_many_as_can_be_put_there_one_by_one(
    gpus: int, lefts: list[int], milli: int
) -> None:
    room, need, count = Room(gpus, tuple(sorted(lefts))), Need(milli=milli), 0
    expected = room.holds(need)
    while True:
        fits = [left for left in room.cards if left >= milli]
        if not fits and room.gpus == 0:
            break
        room = room.shared(fits[0] if fits else CARD, milli)
        count += 1
    assert count == expected
