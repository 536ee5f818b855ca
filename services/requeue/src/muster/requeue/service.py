"""The composition root of requeue."""

from __future__ import annotations

from muster.domain.edges import Owner
from muster.requeue.handlers import Handlers
from muster.requeue.settings import RequeueSettings
from muster.requeue.stream import subscriptions
from muster.requeue.watch import LOOK_S, Watch
from muster.runtime.journal import Journal
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service


def build(runtime: Runtime, settings: RequeueSettings | None = None) -> Service:
    """Put requeue together over a runtime."""
    settings = settings or RequeueSettings()
    journal = Journal(Owner.REQUEUE, runtime.log, runtime.clock, runtime.ids)
    handlers = Handlers(journal, runtime.together)
    watch = Watch(runtime.log, runtime.clock, handlers.after_release)
    return Service(
        owner=Owner.REQUEUE,
        subscriptions=subscriptions(handlers),
        loops=(
            Loop("deadlines", handlers.deadlines.step, settings.sweep_s),
            Loop("interrupted", watch.step, LOOK_S),
        ),
    )


def main() -> None:
    """Run requeue as a process of its own."""
    run(Owner.REQUEUE, build)


if __name__ == "__main__":
    main()
