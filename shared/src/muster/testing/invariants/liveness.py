"""I14: after faults have stopped and time has passed, nothing waits for ever."""

from __future__ import annotations

from typing import ClassVar

from muster.domain.deadlines import counts
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.state import JobState
from muster.testing.durables import Parked
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World

_CLOCKED = {
    Phase.EVICTING,
    Phase.STOPPING,
    Phase.STARTING,
    Phase.FAULTED,
    Phase.DEBUG_HOLDING,
}


class NothingWaitsForEver(Invariant):
    number: ClassVar[str] = "I14"
    text: ClassVar[str] = (
        "Every waiting phase has a deadline; no message is parked that a service should handle; and"
        " at the end every job is over or parked for a person, and no message is left open."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._parked = 0
        self._overdue: set[str] = set()

    def on_job(self, change: JobChange) -> None:
        state = change.after
        if change.fact.event == "release_overdue":
            self._overdue.add(state.job)
        clocked = state.phase not in _CLOCKED or any(counts(k, state) for k in state.deadlines)
        if not clocked and state.job not in self._overdue:
            raise self.broken(f"{change.fact.event}: {state.phase} has no clock", state.job)
        if state.phase not in {Phase.EVICTING, Phase.STOPPING}:
            self._overdue.discard(state.job)

    def on_step(self, world: World) -> None:
        parked = world.bus.parked[self._parked :]
        self._parked = len(world.bus.parked)
        for each in parked:
            if not expected(each):
                where = f"{each.consumer.durable} on {each.message.subject}"
                raise self.broken(f"{where} was parked: {each.why}")

    def at_end(self, world: World) -> None:
        for state in self.known.jobs.values():
            if state.phase not in TERMINAL | PARKED:
                raise self.broken(f"{_where(state)} for ever", state.job)
        for durable in world.bus.durables.values():
            for delivery in durable.open.values():
                raise self.broken(
                    f"{durable.consumer.durable} never handles {delivery.message.subject}"
                )
        for alarm in world.store.alarms.values():
            if alarm.rings_at <= world.time.now():
                raise self.broken(f"the alarm {alarm.waits_on} never rings", alarm.job)


def expected(parked: Parked) -> bool:
    """Whether a message is of a kind that nobody can handle."""
    return parked.why == "unreadable" or parked.message.subject.startswith("requests.")


def _where(state: JobState) -> str:
    return f"{state.phase}, attempt {state.attempt}, entry {state.queue_entry}"
