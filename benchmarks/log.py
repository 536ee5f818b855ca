"""How fast the log is: one JSON line for each mode, next to nats-py alone in the same run.

`make bench-log`, or `make bench-log ARGS=--quick`. Starts nats-servers of its own, with and without
a sync at every write. Rounds of ours and of raw alternate, so that a busy machine slows both; the
figures are medians of the rounds. With a sync at every write appends that wait go together, as
the host has it. per_core is what one core of this process would carry.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import structlog
from nats.aio.client import Client

from muster.log import Append, Basis
from muster.log.jetstream import JetStreamLog
from muster.runtime.collector import calm_collector

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import log_raw
from benchmarks.log_handler import (
    CONSUMERS,
    OURS,
    RAW,
    Handling,
    raw_handling,
    sample_traces,
    submitted,
)
from benchmarks.log_jobs import Job, jobs
from benchmarks.log_raw import Life
from benchmarks.log_server import fill, opened, prepare, server

IN_FLIGHT = 256
MODES = ("single", "pipelined", "batch100", "batch500", "handler")
FULL_MODES = ("single", "pipelined", "batch100", "handler")


@dataclass(frozen=True, slots=True)
class Size:
    """Events of a round, by mode; rounds; subjects of the full log."""

    single: int
    pipelined: int
    batch: int
    handler: int
    rounds: int
    subjects: int


FULL = Size(500, 4000, 5000, 1500, 9, 1_000_000)
QUICK = Size(200, 2500, 5000, 800, 3, 20_000)


@dataclass(slots=True)
class Clocked:
    """Events a second, and microseconds of this process's CPU for each, round by round."""

    rates: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    async def time(self, events: int, work: Awaitable[None]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        await work
        self.rates.append(events / (time.perf_counter() - wall))
        self.costs.append((time.process_time() - cpu) / events * 1e6)

    @property
    def per_s(self) -> float:
        return median(self.rates)

    @property
    def cpu_us(self) -> float:
        return median(self.costs)


@dataclass(slots=True)
class Measured:
    """Ours and raw, round by round."""

    ours: Clocked = field(default_factory=Clocked)
    raw: Clocked = field(default_factory=Clocked)


class Bench:
    """All modes on one server."""

    def __init__(self, connection: Client, size: Size, *, group_commit: bool) -> None:
        self._connection, self._size = connection, size
        self._log = JetStreamLog(connection, group_commit=group_commit)

    async def run(self, mode: str) -> Measured:
        """Measure a mode."""
        measured = Measured()
        rounds: dict[str, Callable[[Measured], Awaitable[None]]] = {
            "single": self._single,
            "pipelined": self._pipelined,
            "batch100": lambda into: self._batches(into, 100),
            "batch500": lambda into: self._batches(into, 500),
            "handler": self._handler,
        }
        await rounds[mode](Measured())  # the first round only warms up
        for _ in range(self._size.rounds):
            await rounds[mode](measured)
        return measured

    async def _single(self, into: Measured) -> None:
        made, lives = _work(self._size.single)
        await into.raw.time(self._size.single, log_raw.single(self._connection, lives))
        await into.ours.time(self._size.single, self._lives(made, 1))

    async def _pipelined(self, into: Measured) -> None:
        made, lives = _work(self._size.pipelined)
        raw = log_raw.pipelined(self._connection, lives, IN_FLIGHT)
        await into.raw.time(self._size.pipelined, raw)
        await into.ours.time(self._size.pipelined, self._lives(made, IN_FLIGHT))

    async def _lives(self, made: Sequence[Job], in_flight: int) -> None:
        left = iter(made)

        async def worker() -> None:
            for job in left:
                seq = 0
                for event in job.events:
                    seq = (await self._log.append(event, Basis(job.key, seq))).seq

        await asyncio.gather(*(worker() for _ in range(in_flight)))

    async def _batches(self, into: Measured, size: int) -> None:
        made, lives = _work(self._size.batch)
        await into.raw.time(self._size.batch, log_raw.batches(self._connection, lives, size))
        await into.ours.time(self._size.batch, self._in_batches(made, size))

    async def _in_batches(self, made: Sequence[Job], size: int) -> None:
        for start in range(0, len(made), size):
            group = made[start : start + size]
            seqs = [0] * len(group)
            for number in range(len(group[0].events)):
                appends = [
                    Append(job.events[number], Basis(job.key, seq))
                    for job, seq in zip(group, seqs, strict=True)
                ]
                seqs = [done.seq for done in await self._log.append_all(appends)]

    async def _handler(self, into: Measured) -> None:
        count = self._size.handler
        answers = [_bytes(job)[1] for job in await submitted(self._log, count, RAW)]
        await into.raw.time(count, raw_handling(self._connection, answers))
        await submitted(self._log, count, OURS)
        handling = Handling(self._connection, self._log, count)
        await into.ours.time(count, handling.run())
        await handling.close()


def _work(events: int) -> tuple[list[Job], list[Life]]:
    """Jobs for ours and the bytes of others for raw: nothing is written twice."""
    count = events // 10
    return jobs(count), [_bytes(job) for job in jobs(count)]


def _bytes(job: Job) -> Life:
    return [(event.subject, event.to_bytes()) for event in job.events]


async def measure(
    sync: str, modes: Sequence[str], size: Size, subjects: int, *, group_commit: bool
) -> AsyncIterator[dict[str, object]]:
    """Yield a line for each mode on a fresh server, with so many subjects in its log before."""
    async with server(sync) as url:
        await prepare(url, CONSUMERS)
        await fill(url, subjects)
        connection = await opened(url, "bench")
        bench = Bench(connection, size, group_commit=group_commit)
        for mode in modes:
            measured = await bench.run(mode)
            more: dict[str, object] = {"subjects": subjects, "group_commit": group_commit}
            yield _line(sync, mode, measured) | {name: more[name] for name in more if more[name]}
        await connection.close()


def _line(sync: str, mode: str, measured: Measured) -> dict[str, object]:
    ours, raw = measured.ours, measured.raw
    return {
        "bench": "log",
        "sync": sync,
        "mode": mode,
        "per_s": round(ours.per_s),
        "raw_per_s": round(raw.per_s),
        "ratio": round(ours.per_s / raw.per_s, 2),
        "cpu_us": round(ours.cpu_us, 1),
        "raw_cpu_us": round(raw.cpu_us, 1),
        "per_core": round(1e6 / ours.cpu_us),
    }


async def main() -> None:
    """Print the lines."""
    options = _options()
    size = QUICK if options.quick else FULL
    sample_traces()
    calm_collector()
    for sync in options.sync:
        for subjects, modes in ((0, MODES), (size.subjects, FULL_MODES)):
            chosen = [mode for mode in modes if mode in options.modes]
            grouped = sync == "always" and not options.no_group_commit
            lines = measure(sync, chosen, size, subjects, group_commit=grouped)
            async for line in lines:
                print(json.dumps(line), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small rounds, in half a minute")
    parser.add_argument("--sync", nargs="*", default=["default", "always"])
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    parser.add_argument("--no-group-commit", action="store_true", help="also not where it pays")
    return parser.parse_args()


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(main())
