"""The composition root of fault tolerance."""

from __future__ import annotations

from muster.domain.edges import Owner
from muster.fault_tolerance.handlers import Handlers
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.stream import subscriptions
from muster.runtime.journal import Journal
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service


def build(runtime: Runtime, settings: FaultToleranceSettings | None = None) -> Service:
    """Put fault tolerance together over a runtime."""
    settings = settings or FaultToleranceSettings()
    journal = Journal(Owner.FAULT_TOLERANCE, runtime.log, runtime.clock, runtime.ids)
    handlers = Handlers(journal)
    return Service(
        owner=Owner.FAULT_TOLERANCE,
        subscriptions=subscriptions(handlers),
        loops=(Loop("deadlines", handlers.deadlines.step, settings.sweep_s),),
    )


def main() -> None:
    """Run fault tolerance as a process of its own."""
    run(Owner.FAULT_TOLERANCE, build)


if __name__ == "__main__":
    main()
