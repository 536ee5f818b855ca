"""A gang whose ranks die together, on the real bus: one JSON line for each way they die.

`make bench-ranks`, or `make bench-ranks ARGS="--ranks 1024 --failures 20"`. Runs a nats-server that
syncs every write and two replicas of fault tolerance in processes of their own; the executor is
pretended: it reports failures and has the output of every rank. `together`: one report names all.
`one_by_one`: the first rank is reported, the others end within three seconds, which asking finds.

Counted: decisions, of which each failure must have exactly one, and the seconds from the end of the
last rank to the decision, without the wait for further ones in `one_by_one`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nats.aio.client import Client
from nats.aio.msg import Msg

from benchmarks.gangs_stack import Stack
from benchmarks.log_server import opened, prepare, server
from muster.bus.topology import CONSUMERS
from muster.contracts import subjects
from muster.contracts.evidence import AskFailure, Signals, pack
from muster.domain import facts as f
from muster.domain.deadlines import SETTLE_S
from muster.domain.edges import Owner
from muster.domain.evidence import FailureEvidence, WorkerEvidence
from muster.domain.spec import FaultToleranceSpec, JobSpec, ResourceSpec
from muster.log import Recorded
from muster.log.jetstream import JetStreamLog
from muster.runtime.ids import new_id
from muster.runtime.journal import Journal

TENANT, POOL = "bench", "default"
VERDICTS = frozenset({"restarted", "replacement_ordered", "failed", "escalated"})
PATIENCE_S, SPREAD_S, QUIET_S = 90.0, 3.0, 3.0
REPLICAS = 2
NOISE = "[rank{rank}]: {at} step {step} loss {loss:.6f} lr 3.0e-04 tokens/s {speed}\n"
END = (
    "[rank{rank}]: Traceback (most recent call last):\n"
    '[rank{rank}]:   File "/job/train.py", line 311, in step\n'
    "[rank{rank}]: torch.distributed.DistBackendError: Watchdog caught collective operation"
    " timeout\n"
)


class WallClock:
    """The time of day."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant


@dataclass(slots=True)
class Pretended:
    """The executor and whoever wrote the job's life before. ends: job -> when each rank ended."""

    ranks: int
    log: JetStreamLog
    ends: dict[str, list[datetime]] = field(default_factory=dict)
    asked: int = 0
    tails: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Write the output once: making it is not what is measured."""
        self.tails = [_output(rank) for rank in range(self.ranks)]

    async def running(self, job: str) -> None:
        """Write a job's life until it runs."""
        spec = JobSpec(
            name="train",
            image="registry/train:1",
            command=("python", "train.py"),
            resource=ResourceSpec(replicas=self.ranks, gpus_per_replica=1),
            fault_tolerance=FaultToleranceSpec(enabled=True, max_retries=3),
        )
        await self._submit(job, spec)
        nodes = {f"node-{n}": _on(n, self.ranks) for n in range((self.ranks + 7) // 8)}
        await self._say(job, Owner.SCHEDULER, f.Scheduled(placement=nodes))
        await self._say(job, Owner.EXECUTOR, f.Launching(attempt=1))
        await self._say(job, Owner.EXECUTOR, f.Started(attempt=1))

    async def _submit(self, job: str, spec: JobSpec) -> None:
        pen = self._pen(Owner.ADMISSION)
        submitted = f.Submitted(
            tenant=TENANT,
            job=job,
            user="ann",
            pool=POOL,
            request=f"r-{job}",
            digest="0" * 64,
            spec=spec,
            demand=spec.demand(),
        )
        first = pen.about_job(None, submitted)
        await pen.record_all([first, pen.about_same_job(first, f.Admitted())])

    async def fails(self, job: str, spread_s: float) -> None:
        """Let every rank end, and report what an executor would have seen at the first end."""
        now = datetime.now(UTC)
        gap = spread_s / max(1, self.ranks - 1)
        self.ends[job] = [now + timedelta(seconds=gap * rank) for rank in range(self.ranks)]
        named = range(1) if spread_s else range(self.ranks)
        failures = tuple(
            f.WorkerFailure(
                worker=f"worker-{rank}", node=f"node-{rank // 8}", exit_code=134, ended_at=now
            )
            for rank in named
        )
        settle_s = SETTLE_S if spread_s else 0
        fact = f.WorkersFailed(attempt=1, failures=failures, settle_s=settle_s)
        await self._say(job, Owner.EXECUTOR, fact)

    async def _say(self, job: str, owner: Owner, fact: f.Fact) -> None:
        await self._pen(owner).advance(TENANT, job, lambda last, now: fact)

    def _pen(self, owner: Owner) -> Journal:
        return Journal(owner, self.log, WallClock(), new_id)

    async def answer(self, message: Msg) -> None:
        """Answer what fault tolerance asks."""
        self.asked += 1
        kind = message.subject.rpartition(".")[2]
        if kind != "failure":
            await message.respond(pack(Signals()))
            return
        asked = AskFailure.model_validate_json(message.data)
        await message.respond(pack(self._evidence(asked)))

    def _evidence(self, asked: AskFailure) -> FailureEvidence:
        now, wanted = datetime.now(UTC), set(asked.tails)
        workers = []
        for rank, end in enumerate(self.ends[asked.job]):
            over, name = end <= now, f"worker-{rank}"
            workers.append(
                WorkerEvidence(
                    worker=name,
                    node=f"node-{rank // 8}",
                    rank=rank,
                    alive=not over,
                    exit_code=134 if over else None,
                    ended_at=end if over else None,
                    tail=self.tails[rank][-asked.tail_bytes :] if name in wanted else "",
                )
            )
        return FailureEvidence(
            tenant=asked.tenant, job=asked.job, attempt=asked.attempt, workers=tuple(workers)
        )


def _on(node: int, ranks: int) -> tuple[str, ...]:
    return tuple(f"worker-{rank}" for rank in range(8 * node, min(8 * node + 8, ranks)))


def _output(rank: int) -> str:
    """Return 64 KiB as a training prints them, the end as a rank prints it that was left alone."""
    told = (_noise(rank, step) for step in range(900))
    return ("".join(told) + END.format(rank=rank))[-65_536:]


def _noise(rank: int, step: int) -> str:
    loss = 2.0 + ((step * 7919 + rank * 104_729) % 1000) / 1000
    at = f"12:{step // 60 % 60:02}:{step % 60:02}"
    return NOISE.format(rank=rank, at=at, step=step, loss=loss, speed=10_000 + (step * rank) % 977)


@dataclass(slots=True)
class Watch:
    """Decisions as they stand in the log: what is published and refused is none.

    at: job -> when each was stored.
    """

    log: JetStreamLog
    at: dict[str, list[float]] = field(default_factory=dict)

    async def follow(self) -> None:
        """Read the log until cancelled."""
        follower = await self.log.follow((subjects.ALL_JOBS,))
        while True:
            for item in await follower.next(wait=1.0):
                if isinstance(item, Recorded) and item.event.data.detail.event in VERDICTS:
                    self.at.setdefault(item.job.job, []).append(item.at.timestamp())

    async def decided(self, job: str) -> None:
        """Wait for a job's decision."""
        async with asyncio.timeout(PATIENCE_S):
            while job not in self.at:
                await asyncio.sleep(0.005)


async def measured(case: str, ranks: int, failures: int) -> dict[str, object]:
    """Run one case."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        async with server("always") as url:
            await prepare(url, CONSUMERS)
            running = Stack(url, Path(folder))
            connection = await opened(url, "ranks")
            try:
                for number in range(REPLICAS):
                    running.start(f"fault-tolerance-{number}", "muster.fault_tolerance.service")
                return await _case(case, ranks, failures, connection, running)
            finally:
                await connection.close()
                running.kill()


async def _case(
    case: str, ranks: int, failures: int, connection: Client, running: Stack
) -> dict[str, object]:
    log = JetStreamLog(connection)
    pretended, watch = Pretended(ranks, log), Watch(log)
    await connection.subscribe(subjects.ALL_EVIDENCE, queue="executor", cb=pretended.answer)
    following = asyncio.create_task(watch.follow())
    spread_s = SPREAD_S if case == "one_by_one" else 0.0
    took: list[float] = []
    for number in range(failures + 1):
        job = f"{case.replace('_', '-')}-{number}"
        await pretended.running(job)
        await pretended.fails(job, spread_s)
        await watch.decided(job)
        if ended := running.ended():
            raise SystemExit(ended)
        wait = SETTLE_S - spread_s if spread_s else 0.0
        last = pretended.ends[job][-1].timestamp()
        if number:  # the first finds processes that still start
            took.append(watch.at[job][0] - last - wait)
    await asyncio.sleep(QUIET_S)
    following.cancel()
    return _line(case, ranks, took, watch, pretended.asked)


def _line(case: str, ranks: int, took: list[float], watch: Watch, asked: int) -> dict[str, object]:
    cuts = quantiles(took, n=100, method="inclusive")
    return {
        "bench": "ranks",
        "case": case,
        "ranks": ranks,
        "replicas": REPLICAS,
        "failures": len(watch.at),
        "decisions": sum(len(each) for each in watch.at.values()),
        "questions": asked,
        **dict(_figures(cuts, took)),
    }


def _figures(cuts: list[float], took: list[float]) -> Iterator[tuple[str, float]]:
    for name, seconds in (("p50", cuts[49]), ("p99", cuts[98]), ("max", max(took))):
        yield f"decided_{name}_s", round(seconds, 3)


def main() -> int:
    """Print a line for each case; 1 if a failure had no decision, or more than one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--failures", type=int, default=20)
    parser.add_argument("--cases", nargs="+", default=["together", "one_by_one"])
    asked = parser.parse_args()
    good = True
    for case in asked.cases:
        line = asyncio.run(measured(case, asked.ranks, asked.failures))
        good = good and line["failures"] == line["decisions"] == asked.failures + 1
        print(json.dumps(line), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
