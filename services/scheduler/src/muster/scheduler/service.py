"""The composition root of the scheduler."""

from __future__ import annotations

from muster.bus import Responder
from muster.domain.edges import Owner
from muster.runtime.journal import Journal
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service
from muster.scheduler.cycle.pool import Standby
from muster.scheduler.cycle.questions import Questions
from muster.scheduler.handlers import Scheduler
from muster.scheduler.settings import SchedulerSettings
from muster.scheduler.stream import FILTERS, desk

BREATH_S = 0.001


def build(runtime: Runtime, settings: SchedulerSettings | None = None) -> Service:
    """Put the scheduler together over a runtime."""
    settings = settings or SchedulerSettings()
    journal = Journal(Owner.SCHEDULER, runtime.log, runtime.clock, runtime.ids)
    scheduler = Scheduler(
        journal,
        settings.policy,
        Standby(settings.standby_look_s, settings.standby_misses),
        FILTERS,
        frozenset(settings.pools),
    )
    if settings.checkpoint_s:
        file = runtime.state_dir / "scheduler-checkpoint.json"
        scheduler.keep_in(file, settings.checkpoint_s)
    every = settings.turn_s
    if settings.gather_s:
        scheduler.wake_on_news(settings.turn_s, settings.gather_s)
        every = BREATH_S  # the turn itself waits
    questions = Questions(scheduler, settings.policy, runtime.aside)
    return Service(
        owner=Owner.SCHEDULER,
        loops=(Loop("rounds", scheduler.step, every),),
        responders=(Responder(desk(settings.pools), questions.answer),),
        stop=scheduler.close,
        ready=scheduler.ready,
    )


def main() -> None:
    """Run scheduler as a process of its own."""
    run(Owner.SCHEDULER, build)


if __name__ == "__main__":
    main()
