"""Notices through one address at its limits, in virtual and in real time: a JSON line a case.

`make bench-notices`, or `make bench-notices ARGS="--only evictions --notices 1000"`. The bot keeps
the limits that are documented: 5 requests in any second and 100 in any minute, refused ones too.

digests, singles: in virtual time, with digests and without. replicas: two, that share a database.
evictions: 300 jobs that are evicted within a minute, three rules. real, real_singles: over HTTP and
by the machine's clock. killed: a notifier in a process of its own, on a real server, SIGKILL ten
times on the way.

lost, twice, disordered: of notices, by what a person reads in cards and digests. repeats: messages
that came again, with the same id; unmarked: of these, without saying that they may be known.
rate_refusals: requests that the bot refused because of its limits. late (p50, p99): from the event
until the bot has it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import notices_real
from benchmarks.notices_bot import read
from benchmarks.notices_figures import figures
from benchmarks.notices_jobs import (
    EVERY,
    EVICTED,
    EVICTIONS,
    LASTING,
    UP,
    Told,
    life_of,
    rules,
    submitted,
)
from benchmarks.notices_virtual import START, staged
from muster.notifier.core.notice import Trigger
from muster.notifier.settings import NotifierSettings

T = Trigger
SPREAD_S = 10.0


@dataclass(frozen=True, slots=True)
class Size:
    """notices: about so many in virtual time. real: in real time. kills: of the process."""

    notices: int
    real: int
    kills: int


def burst(notices: int, triggers: tuple[Trigger, ...], begun: datetime = START) -> list[Told]:
    """Return whole lives, begun within some seconds, that make about so many notices."""
    jobs = max(1, round(notices / len(triggers)))
    starts = (begun + timedelta(seconds=1 + SPREAD_S * number / jobs) for number in range(jobs))
    return [told for number, at in enumerate(starts) for told in _life(number, at, triggers)]


def _life(number: int, at: datetime, triggers: tuple[Trigger, ...]) -> list[Told]:
    job = submitted(f"job-{number:05d}", START)
    return [
        Told(told.event, told.job, tuple(t for t in told.triggers if t in triggers))
        for told in job.lives(life_of(triggers), at, every=0.2)
    ]


async def virtual(
    case: str,
    url: str,
    notices: int,
    *,
    grouped: bool,
    replicas: int = 1,
) -> dict[str, object]:
    """Send a burst through one address in virtual time."""
    triggers = EVERY if grouped else LASTING
    settings = NotifierSettings(grouped=grouped, senders=2)
    told, began = burst(notices, triggers), time.monotonic()
    async with staged(url, rules(triggers, "ops"), settings, replicas) as stage:
        await stage.plays(told)
        seen = read(stage.bot.received)
        return figures(told, triggers, seen).line(
            case,
            rate_refusals=stage.bot.refused,
            digests=seen.digests,
            replicas=replicas,
            states=await stage.states(),
            virtual_s=round((stage.clock.at - START).total_seconds()),
            real_s=round(time.monotonic() - began, 1),
        )


def evicted(jobs: int) -> list[Told]:
    """Return many evictions within a minute, of jobs that ran."""
    told: list[Told] = []
    for number in range(jobs):
        job = submitted(f"job-{number:05d}", START)
        list(job.lives(UP, START))
        told += job.lives(EVICTED, START + timedelta(seconds=1 + 60 * number / jobs), every=0.5)
    return told


async def evictions(url: str, jobs: int = 300) -> dict[str, object]:
    """Evict many jobs in a minute, with three rules for one address."""
    told = evicted(jobs)
    async with staged(url, rules(EVICTIONS, "ops"), NotifierSettings(senders=2)) as stage:
        await stage.plays(told)
        seen = read(stage.bot.received)
        return figures(told, EVICTIONS, seen).line(
            "evictions",
            rate_refusals=stage.bot.refused,
            digests=seen.digests,
            titles=[message.title for message in stage.bot.received],
            virtual_s=round((stage.clock.at - START).total_seconds()),
        )


Case = Callable[[Path, Size], Coroutine[Any, Any, dict[str, object]]]


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'notifier.db'}"


CASES: dict[str, Case] = {
    "digests": lambda at, size: virtual("digests", _url(at), size.notices, grouped=True),
    "singles": lambda at, size: virtual("singles", _url(at), size.notices, grouped=False),
    "replicas": lambda at, size: virtual(
        "replicas", _url(at), size.notices, grouped=True, replicas=2
    ),
    "evictions": lambda at, size: evictions(_url(at)),
    "real": lambda at, size: notices_real.real("real", at, size.real, grouped=True),
    "real_singles": lambda at, size: notices_real.real(
        "real_singles", at, size.real, grouped=False
    ),
    "killed": lambda at, size: notices_real.real(
        "killed", at, size.real, grouped=False, kills=size.kills
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="notices through one address at its limits")
    parser.add_argument("--only", choices=CASES, action="append", help="one case; several times")
    parser.add_argument("--notices", type=int, default=10_000, help="in virtual time")
    parser.add_argument("--real", type=int, default=500, help="in real time")
    parser.add_argument("--kills", type=int, default=10)
    chosen = parser.parse_args()
    logging.disable(logging.ERROR)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    size = Size(chosen.notices, chosen.real, chosen.kills)
    for name in chosen.only or CASES:
        with tempfile.TemporaryDirectory() as folder:
            line = asyncio.run(CASES[name](Path(folder), size))
        print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
