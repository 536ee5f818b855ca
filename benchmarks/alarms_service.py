"""Requeue in a process of its own, as in production, that also writes down each alarm it hears.

    usage: python -m benchmarks.alarms_service FILE

FILE gets a line for each ring: the job, when the server rang, and when that was heard, in seconds
of Muster's time.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path

from muster.bus import Handler, Subscription, Trigger
from muster.bus.topology import REQUEUE_ALARMS
from muster.domain.edges import Owner
from muster.requeue.service import build
from muster.runtime.clock import Clock
from muster.runtime.process import run
from muster.runtime.service import Runtime, Service


def main() -> None:
    with Path(sys.argv[1]).open("a", buffering=1) as rings:
        run(Owner.REQUEUE, lambda runtime: _listening(runtime, rings))


def _listening(runtime: Runtime, rings: TextIOWrapper) -> Service:
    service = build(runtime)
    heard = tuple(
        replace(each, handler=_noting(each, runtime.clock, rings))
        if each.consumer is REQUEUE_ALARMS
        else each
        for each in service.subscriptions
    )
    return replace(service, subscriptions=heard)


def _noting(subscription: Subscription, clock: Clock, rings: TextIOWrapper) -> Handler:
    async def handler(trigger: Trigger) -> None:
        alarm = trigger.alarm
        assert alarm is not None
        rang = trigger.at - (clock.on_server(trigger.at) - trigger.at)
        rings.write(f"{alarm.job} {rang.timestamp()} {clock.now().timestamp()}\n")
        await subscription.handler(trigger)

    return handler


if __name__ == "__main__":
    main()
