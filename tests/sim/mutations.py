"""Faults put into the code on purpose, for each invariant: proof that each check can fail.

A mutation replaces one function, table or text by a wrong one, as a careless change might.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from muster.cli.simulation.backend import SimBackend
from muster.domain import evolve, facts, reasons
from muster.domain.demand import Demand
from muster.domain.edges import EDGES
from muster.domain.facts import (
    Fact,
    QueueTimedOut,
    Requeued,
    Started,
    StopRequested,
)
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import ReasonCode
from muster.domain.state import DeadlineKind, JobState
from muster.executor.backends import Launch
from muster.executor.core import reconcile
from muster.executor.core.view import View, Worker
from muster.fault_tolerance.core import again, strategy
from muster.log.memory import MemoryLog
from muster.requeue import handlers as requeue_handlers
from muster.requeue.core import decide
from muster.scheduler.core import (
    book,
    doors,
    ground,
    holders,
    memory,
    placement,
    quota,
    rank,
    rights,
    stock,
    upkeep,
)
from muster.scheduler.core import round as scheduling
from muster.scheduler.core.amounts import NOTHING, Room, room
from muster.scheduler.core.board import Board, Left
from muster.scheduler.core.jobs import Waiter
from muster.scheduler.core.snapshot import JobKey, Snapshot
from muster.scheduler.core.stayers import Stayer
from muster.scheduler.cycle.fold import Fold

Patch = pytest.MonkeyPatch


def a_node_is_given_away_twice(patch: Patch) -> None:
    def free(self: Board, node: str, without: frozenset[JobKey] = frozenset()) -> Room:
        return room(self.capacity(node))

    patch.setattr(Board, "free", free)


def what_others_take_is_given_away(patch: Patch) -> None:
    patch.setattr(memory, "of_foreign", lambda use: NOTHING)


def a_shared_card_is_never_full(patch: Patch) -> None:
    true = Board._after

    def after(self: Board, node: str, claims: Any, gone: Any) -> Left:
        slots = {slot: 999 for claim in claims.values() for slot in claim.taken.slots}
        room = true(self, node, claims, gone).room
        return Left(room._replace(cards=(999,) * len(slots)), slots)

    patch.setattr(Board, "_after", after)


def a_taint_is_ignored(patch: Patch) -> None:
    patch.setattr(doors, "untolerated", lambda *args: None)


def a_gang_is_spread_that_must_not_be(patch: Patch) -> None:
    true = placement.how_for

    def how_for(demand: Demand, *args: Any) -> Any:
        return true(demand.model_copy(update={"locality": None}), *args)

    patch.setattr(scheduling, "how_for", how_for)


def a_promise_is_given_away(patch: Patch) -> None:
    true = Board.claim

    def claim(
        self: Board, job: JobKey, amounts: Any, waits: frozenset[JobKey] = frozenset()
    ) -> None:
        true(self, job, {} if waits else amounts, waits)

    patch.setattr(Board, "claim", claim)


def a_worker_is_left_out_of_the_placement(patch: Patch) -> None:
    whole = placement.place

    def place(*args: Any) -> Any:
        found = whole(*args)
        if not isinstance(found, dict) or sum(map(len, found.values())) < 2:
            return found
        node = max(found)
        less = {**found, node: found[node][:-1]} if found[node][1:] else _without(found, node)
        return placement.Placed(less.items())

    patch.setattr(scheduling, "place", place)


def _without(placement: dict[str, tuple[str, ...]], node: str) -> dict[str, tuple[str, ...]]:
    return {name: workers for name, workers in placement.items() if name != node}


def a_release_needs_no_proof(patch: Patch) -> None:
    def alive(self: View) -> tuple[Worker, ...]:
        return ()

    patch.setattr(View, "alive", alive)


def a_stop_is_forgotten_while_evicting(patch: Patch) -> None:
    true = evolve._stop_requested

    def evict(state: JobState, fact: Any, at: datetime) -> evolve.Changes:
        return {} if state.phase is Phase.EVICTING else true(state, fact, at)

    edge = EDGES["stop_requested"]
    effects: dict[Any, Any] = evolve._EFFECTS
    patch.setitem(effects, StopRequested, evict)
    patch.setitem(EDGES, "stop_requested", replace(edge, targets=edge.targets | {Phase.EVICTING}))


def every_requeue_counts(patch: Patch) -> None:
    true = decide._requeued

    def requeued(state: JobState, eviction: Any, **more: Any) -> Requeued:
        return true(state, eviction, **{**more, "counted": True})

    patch.setattr(decide, "_requeued", requeued)


def the_next_entry_keeps_the_old_clock(patch: Patch) -> None:
    true = evolve._enter_queue

    def enter(state: JobState, at: datetime, one_shot: bool) -> evolve.Changes:
        changes = true(state, at, one_shot)
        old = state.entered_at or at
        clocks = evolve._queue_deadlines(state.demand.queue, one_shot, old)
        return {**changes, "deadlines": clocks}

    patch.setattr(evolve, "_enter_queue", enter)


def a_queue_times_out_without_a_round(patch: Patch) -> None:
    def on_deadline(
        state: JobState, seq: int, now: datetime, last: object, why: object = None
    ) -> Fact | None:
        due = state.due(DeadlineKind.QUEUE)
        if state.phase is not Phase.QUEUED or due is None or now < due:
            return None
        return QueueTimedOut(entry=state.queue_entry)

    patch.setattr(requeue_handlers, "on_deadline", on_deadline)


def a_guarantee_is_ignored(patch: Patch) -> None:
    def may_evict(own: rank.Level, victim: Stayer) -> bool:
        return victim.level < own

    def who_may_go(
        self: holders.Holders, keys: Iterable[JobKey], top: rank.Level, leaving: Collection[JobKey]
    ) -> frozenset[JobKey]:
        stay = {key for key in keys if (one := self.stayers.get(key)) and one.level > top}
        return frozenset(keys) - stay

    patch.setattr(rights, "may_evict", may_evict)
    patch.setattr(holders.Holders, "who_may_go", who_may_go)
    patch.setattr(holders.Holders, "top_below", lambda self, own: (9, 99))


def equals_evict_each_other(patch: Patch) -> None:
    def may_evict(own: rank.Level, victim: Stayer) -> bool:
        return not victim.guarantee and victim.level <= own

    patch.setattr(rights, "may_evict", may_evict)


def a_request_is_not_remembered(patch: Patch) -> None:
    patch.setattr(JobState, "knows", lambda self, request: False)


def reports_name_no_attempt(patch: Patch) -> None:
    patch.setattr(facts, "OfAttempt", type("Nothing", (), {}))
    true = reconcile.next_step

    def next_step(*args: Any) -> Any:
        step = true(*args)
        if isinstance(step, reconcile.Record) and isinstance(step.fact, Started):
            return reconcile.Record(step.fact.model_copy(update={"attempt": 1}))
        return step

    patch.setattr("muster.executor.handlers.next_step", next_step)


def writes_have_no_condition(patch: Patch) -> None:
    patch.setattr(MemoryLog, "_check", lambda self, basis: None)


def a_worker_starts_on_another_node(patch: Patch) -> None:
    true = SimBackend.launch

    async def launch(self: SimBackend, launches: Sequence[Launch]) -> None:
        nodes = sorted(self._cluster.nodes)
        moved = [
            Launch(
                each.key,
                nodes[(nodes.index(each.node) + 1) % len(nodes)],
                0,
                *(getattr(each, name) for name in _REST),
            )
            for each in launches
        ]
        await true(self, moved)

    patch.setattr(SimBackend, "launch", launch)


_REST = ("command", "env", "rank", "world_size", "local_rank", "leader", "workdir")


def a_release_is_never_followed_up(patch: Patch) -> None:
    patch.setattr(requeue_handlers, "on_release", lambda state: None)


def a_handler_fails_in_a_way_of_its_own(patch: Patch) -> None:
    def verdict_of(*args: object, **more: object) -> None:
        raise ZeroDivisionError("a budget of nothing")

    patch.setattr("muster.fault_tolerance.judging.judging.judge", verdict_of)


def the_queue_is_a_stack(patch: Patch) -> None:
    def last_first(waiter: Waiter) -> Any:
        entered, *more = waiter.place
        return -entered.timestamp(), *more

    patch.setattr(book, "_place", last_first)


def everything_is_shown_as_running(patch: Patch) -> None:
    patch.setattr(evolve, "_shown", lambda *args: Shown.RUNNING)


def a_lost_node_costs_a_restart(patch: Patch) -> None:
    def replaced(*args: Any) -> Fact:
        paid = {"infrastructure": False, "restart": True}
        return again.replaced(*args).model_copy(update=paid)

    patch.setattr("muster.fault_tolerance.core.verdict.replaced", replaced)


def the_restart_budget_is_off_by_one(patch: Patch) -> None:
    def limit_of(demand: Demand) -> int:
        return strategy.limit_of(demand) + bool(strategy.limit_of(demand))

    patch.setattr("muster.fault_tolerance.core.case.limit_of", limit_of)


def the_promised_words_are_gone(patch: Patch) -> None:
    words = ("another job took the room of {by} ({cause})", "{by} {cause}")
    patch.setitem(reasons._TEXTS, ReasonCode.PREEMPTED, words)


def an_exit_after_our_signal_counts(patch: Patch) -> None:
    patch.setattr(evolve, "_refuse_after_signal", lambda state, event: None)
    true = reconcile._before_signal

    def before_signal(state: JobState, view: View) -> Any:
        return true(state.model_copy(update={"signalled": False}), view)

    patch.setattr(reconcile, "_before_signal", before_signal)


def a_cordon_is_ignored(patch: Patch) -> None:
    patch.setattr(ground, "shut", lambda *args: None)
    patch.setattr(upkeep, "_withdrawal", lambda *args: None)


def a_ceiling_is_ignored(patch: Patch) -> None:
    patch.setattr(quota.Ledger, "_left", lambda *args, **more: None)


def a_block_list_is_ignored(patch: Patch) -> None:
    patch.setattr(Snapshot, "blocked", lambda self, state: frozenset())


def more_than_the_stock_is_given_away(patch: Patch) -> None:
    patch.setattr(stock.Stock, "over", lambda *args: [])


def stock_is_taken_back_that_is_offered(patch: Patch) -> None:
    def owed(self: stock.Stock, leaving: frozenset[JobKey]) -> Iterator[stock.Owed]:
        for item, account in sorted(self._accounts.items()):
            if held := account.without(leaving):
                yield stock.Owed(item, held, None)

    patch.setattr(stock.Stock, "owed", owed)


def a_right_to_spot_is_ignored(patch: Patch) -> None:
    patch.setattr(Snapshot, "denied_spot", lambda self, state: False)


def the_living_scheduler_forgets_an_unreadable_event(patch: Patch) -> None:
    true = Fold.take
    seen: set[tuple[int, int]] = set()

    def take(self: Fold, item: Any, stay: int | None = None) -> None:
        # what it has once read it takes as known when it reads it again
        key = (id(self), item.seq)
        if item.seq % 7 == 0 and (0, item.seq) not in seen:
            seen.add((0, item.seq))
            return
        seen.add(key)
        true(self, item, stay)

    patch.setattr(Fold, "take", take)


MUTATIONS: dict[str, tuple[str, Callable[[Patch], None]]] = {
    mutation.__name__: (number, mutation)
    for number, mutation in (
        ("I1", a_node_is_given_away_twice),
        ("I1", a_promise_is_given_away),
        ("I1", what_others_take_is_given_away),
        ("I1", a_shared_card_is_never_full),
        ("I2", a_worker_is_left_out_of_the_placement),
        ("I3", a_release_needs_no_proof),
        ("I23", a_ceiling_is_ignored),
        ("I23", a_block_list_is_ignored),
        ("I24", more_than_the_stock_is_given_away),
        ("I24", stock_is_taken_back_that_is_offered),
        ("I24", a_right_to_spot_is_ignored),
        ("I4", a_stop_is_forgotten_while_evicting),
        ("I5", every_requeue_counts),
        ("I6", the_next_entry_keeps_the_old_clock),
        ("I6", a_queue_times_out_without_a_round),
        ("I7", a_guarantee_is_ignored),
        ("I8", equals_evict_each_other),
        ("I10", a_request_is_not_remembered),
        ("I11", reports_name_no_attempt),
        ("I12", writes_have_no_condition),
        ("I13", a_worker_starts_on_another_node),
        ("I14", a_release_is_never_followed_up),
        ("I14", a_handler_fails_in_a_way_of_its_own),
        ("I15", the_queue_is_a_stack),
        ("I16", everything_is_shown_as_running),
        ("I18", a_lost_node_costs_a_restart),
        ("I18", the_restart_budget_is_off_by_one),
        ("I19", the_promised_words_are_gone),
        ("I19", an_exit_after_our_signal_counts),
        ("I21", the_living_scheduler_forgets_an_unreadable_event),
        ("I22", a_cordon_is_ignored),
        ("I22", a_taint_is_ignored),
        ("I22", a_gang_is_spread_that_must_not_be),
    )
}
"""name -> (the invariant that must notice, the mutation)."""
