"""Faults put on purpose into what limits, counts and looks after jobs; each has a rule to find it.

A mutation replaces one function of the code by a wrong one, as a careless change might.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from muster.domain import causes, evolve
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import Demand
from muster.domain.state import DeadlineKind, JobState
from muster.fault_tolerance.core import strategy
from muster.requeue.core import decide
from tests.sim import limit_rules as rules
from tests.sim.limit_rules import Rule

Patch = pytest.MonkeyPatch
Changes = dict[str, Any]
Effect = Callable[[JobState, Any, datetime], Changes]


def _effect(patch: Patch, fact: type[f.Fact], wrong: Callable[[Effect], Effect]) -> None:
    """Replace what a fact does to the state."""
    patch.setitem(evolve._EFFECTS, fact, wrong(evolve._EFFECTS[fact]))


def _with(**more: Callable[[JobState, Changes], object]) -> Callable[[Effect], Effect]:
    """An effect with some fields made anew from the state before and the true changes."""

    def wrong(true: Effect) -> Effect:
        def effect(state: JobState, fact: Any, at: datetime) -> Changes:
            changes = true(state, fact, at)
            return {**changes, **{name: make(state, changes) for name, make in more.items()}}

        return effect

    return wrong


def one_requeue_too_many(patch: Patch) -> None:
    true = causes.after_release
    patch.setattr(
        decide,
        "after_release",
        lambda cause, **more: true(cause, **{**more, "left": more["left"] + 1}),
    )


def one_requeue_too_few(patch: Patch) -> None:
    true = causes.after_release
    patch.setattr(
        decide,
        "after_release",
        lambda cause, **more: true(cause, **{**more, "left": max(0, more["left"] - 1)}),
    )


def a_requeue_is_not_counted(patch: Patch) -> None:
    _effect(patch, f.Requeued, _with(ledgers=lambda state, changes: state.ledgers))


def a_lowered_limit_is_not_heard(patch: Patch) -> None:
    """What is left is told by the highest limit there is."""
    patch.setattr(
        JobState,
        "requeues_left",
        property(lambda self: 3 - self.ledgers.requeues if self.demand.queue else 0),
    )


def auto_queue_is_forgotten_after_an_eviction(patch: Patch) -> None:
    true = causes.after_release
    patch.setattr(
        decide, "after_release", lambda cause, **more: true(cause, **{**more, "auto_queue": False})
    )


def the_fourth_refusal_parks(patch: Patch) -> None:
    patch.setattr(evolve, "START_BUDGET", 4)


def a_refusal_for_now_is_counted(patch: Patch) -> None:
    def wrong(true: Effect) -> Effect:
        return lambda state, fact, at: true(
            state, fact.model_copy(update={"permanent": True, "not_before": None}), at
        )

    _effect(patch, f.StartRefused, wrong)


def the_restart_budget_is_off_by_one(patch: Patch) -> None:
    def limit_of(demand: Demand) -> int:
        return strategy.limit_of(demand) + bool(strategy.limit_of(demand))

    patch.setattr("muster.fault_tolerance.core.case.limit_of", limit_of)


def the_next_queueing_keeps_the_old_clock(patch: Patch) -> None:
    true = evolve._enter_queue

    def enter(state: JobState, at: datetime, one_shot: bool) -> Changes:
        old = state.entered_at or at
        clocks = evolve._queue_deadlines(state.demand.queue, one_shot, old)
        return {**true(state, at, one_shot), "deadlines": clocks}

    patch.setattr(evolve, "_enter_queue", enter)


def a_new_limit_counts_from_now(patch: Patch) -> None:
    def wrong(true: Effect) -> Effect:
        return lambda state, fact, at: true(state.model_copy(update={"entered_at": at}), fact, at)

    _effect(patch, f.Respecified, wrong)


def a_place_taken_back_gives_a_fresh_clock(patch: Patch) -> None:
    true = evolve._back_to_entry

    def back(state: JobState, at: datetime) -> Changes:
        clocks = evolve._queue_deadlines(state.demand.queue, state.one_shot, at)
        return {**true(state, at), "deadlines": clocks}

    patch.setattr(evolve, "_back_to_entry", back)


def a_place_taken_back_is_a_new_queueing(patch: Patch) -> None:
    patch.setattr(
        evolve,
        "_back_to_entry",
        lambda state, at: {**evolve._enter_queue(state, at, state.one_shot), "held": {}},
    )


def a_queueing_ends_a_second_late(patch: Patch) -> None:
    true = decide.on_deadline

    def on_deadline(
        state: JobState, seq: int, now: datetime, last: Any, why: Any = None
    ) -> f.Fact | None:
        return true(state, seq, now.replace(microsecond=0), last, why)

    patch.setattr(decide, "on_deadline", on_deadline)


def a_queueing_ends_early(patch: Patch) -> None:
    def on_deadline(
        state: JobState, seq: int, now: datetime, last: Any, why: Any = None
    ) -> f.Fact | None:
        due = state.due(DeadlineKind.QUEUE)
        queued = state.phase.value == "queued" and due is not None
        return f.QueueTimedOut(entry=state.queue_entry) if queued else None

    patch.setattr(decide, "on_deadline", on_deadline)


def lowering_a_limit_uses_up_requeues(patch: Patch) -> None:
    _effect(
        patch,
        f.Respecified,
        _with(ledgers=lambda state, changes: state.ledgers.model_copy(update={"requeues": 3})),
    )


def a_lost_node_debits_the_users_restarts_too(patch: Patch) -> None:
    true = evolve._debit

    def debit(ledgers: Any, *args: Any, **more: Any) -> Any:
        both = true(ledgers, *args, **more)
        return both.model_copy(update={"restarts": ledgers.restarts + 1})

    patch.setattr(evolve, "_debit", debit)


def every_eviction_counts(patch: Patch) -> None:
    """Also the one after a failure, which another ledger has paid for."""
    patch.setattr(causes, "PREEMPTIONS", frozenset(EvictionCause))
    patch.setattr(rules, "_COUNT", frozenset(cause.value for cause in EvictionCause))


def the_rest_of_a_failed_gang_is_judged_again(patch: Patch) -> None:
    patch.setattr(evolve, "SCHEDULER_CAUSES", frozenset(EvictionCause))


def a_release_forgets_why(patch: Patch) -> None:
    _effect(patch, f.Released, _with(eviction=lambda state, changes: None))


def nothing_follows_a_release(patch: Patch) -> None:
    patch.setattr(decide, "on_release", lambda state: None)


def a_placement_has_no_clock(patch: Patch) -> None:
    _without_clock(patch, f.Scheduled, DeadlineKind.PLAN)


def a_start_has_no_clock(patch: Patch) -> None:
    _without_clock(patch, f.Launching, DeadlineKind.START)


def a_verdict_has_no_clock(patch: Patch) -> None:
    _without_clock(patch, f.WorkersFailed, DeadlineKind.VERDICT)


def a_resumed_job_has_no_clock(patch: Patch) -> None:
    _without_clock(patch, f.Resumed, DeadlineKind.QUEUE)


def changed_limits_have_no_clock(patch: Patch) -> None:
    _without_clock(patch, f.Respecified, DeadlineKind.QUEUE)


def _without_clock(patch: Patch, fact: type[f.Fact], kind: DeadlineKind) -> None:
    _effect(
        patch,
        fact,
        _with(
            deadlines=lambda state, changes: {
                k: at
                for k, at in changes.get("deadlines", state.deadlines).items()
                if k is not kind
            }
        ),
    )


def an_eviction_has_no_clock(patch: Patch) -> None:
    patch.setattr(evolve, "_stop_clocks", lambda at, grace_s: {})


def one_shot_waits_without_end(patch: Patch) -> None:
    true = evolve._queue_deadlines
    patch.setattr(evolve, "_queue_deadlines", lambda queue, one_shot, at: true(queue, False, at))


def a_parked_job_keeps_what_it_used(patch: Patch) -> None:
    _effect(patch, f.Resumed, _with(ledgers=lambda state, changes: state.ledgers))


def a_job_out_of_requeues_is_left_where_it_is(patch: Patch) -> None:
    true = decide.on_release

    def on_release(state: JobState) -> f.Fact | None:
        found = true(state)
        return None if isinstance(found, f.RequeueExhausted) else found

    patch.setattr(decide, "on_release", on_release)


MUTATIONS: dict[str, tuple[Rule, Callable[[Patch], None]]] = {
    mutation.__name__: (rule, mutation)
    for rule, found in (
        (
            rules.requeues_stay_within_their_limit,
            (
                one_requeue_too_many,
                one_requeue_too_few,
                a_requeue_is_not_counted,
                a_lowered_limit_is_not_heard,
                auto_queue_is_forgotten_after_an_eviction,
            ),
        ),
        (
            rules.starts_stay_within_their_limit,
            (the_fourth_refusal_parks, a_refusal_for_now_is_counted),
        ),
        (rules.restarts_stay_within_their_limit, (the_restart_budget_is_off_by_one,)),
        (
            rules.each_queueing_has_its_hours,
            (
                the_next_queueing_keeps_the_old_clock,
                a_new_limit_counts_from_now,
                a_place_taken_back_gives_a_fresh_clock,
                a_queueing_ends_a_second_late,
                a_queueing_ends_early,
            ),
        ),
        (rules.a_new_queueing_needs_a_cause, (a_place_taken_back_is_a_new_queueing,)),
        (rules.lowering_a_limit_ends_nothing_by_itself, (lowering_a_limit_uses_up_requeues,)),
        (
            rules.no_cause_debits_two_ledgers,
            (
                a_lost_node_debits_the_users_restarts_too,
                every_eviction_counts,
                the_rest_of_a_failed_gang_is_judged_again,
            ),
        ),
        (
            rules.somebody_looks_again,
            (
                a_release_forgets_why,
                nothing_follows_a_release,
                a_placement_has_no_clock,
                a_start_has_no_clock,
                a_verdict_has_no_clock,
                a_resumed_job_has_no_clock,
                changed_limits_have_no_clock,
                an_eviction_has_no_clock,
                one_shot_waits_without_end,
                a_parked_job_keeps_what_it_used,
                a_job_out_of_requeues_is_left_where_it_is,
            ),
        ),
    )
    for mutation in found
}
"""name -> (the rule that must notice, the mutation)."""
