"""How fast logs are read by the rules, one JSON object a line: `make bench-diagnose`.

`read`: tails of 64 KiB, as the rules read them and as one would read them naively (every rule held
against every line), both in the same run; the two must find the same. `job`: a job of 1,024 ranks
fails, and is judged from the tails that the executor hands over: 64 KiB of the first 16 ranks and
4 KiB of all others. Tails are made of healthy output of many frameworks, and end in a failure.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from muster.domain.evidence import Scope, WorkerEvidence
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.lines import TAIL, lines
from muster.fault_tolerance.core.rules import Role, Rulebook
from muster.fault_tolerance.rulebook import shipped

HEALTHY = Path(__file__).resolve().parents[1] / "tests" / "fault_tolerance" / "healthy"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG, SHORT, FIRST, RANKS = TAIL - 200, 4 * 1024, 16, 1024
GUILTY = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
SURVIVOR = (
    "[Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=912, OpType=ALLREDUCE,"
    " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
)
TRACEBACK = """\
Traceback (most recent call last):
  File "/workspace/train.py", line 31, in main
    loss.backward()
"""

Found = set[tuple[int, str, int]]


class Tails:
    """Makes ends of logs; the same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        logs = [path for path in sorted(HEALTHY.glob("*.log")) if path.stem != "kernel"]
        self._logs = [path.read_text(encoding="utf-8").splitlines() for path in logs]

    def tail(self, size: int, ends: str) -> str:
        """Return a tail of about this size: lines of one framework, never twice the same."""
        told = self._random.choice(self._logs)
        parts, length = [], 0
        while length < size - len(ends) - len(TRACEBACK):
            line = f"{self._random.choice(told)} #{self._random.randrange(10**6)}"
            parts.append(line)
            length += len(line) + 1
        return "\n".join([*parts, f"{TRACEBACK}{ends}", ""])


def naive(book: Rulebook, tail: str) -> Iterable[tuple[str, int]]:
    """Hold every rule against every line, without looking for its literals first."""
    rules = [rule for rule in book.rules if rule.scope is Scope.LOG]
    for line in lines(tail, NOW):
        if line.frame:
            continue
        for rule in rules:
            if line.late and rule.role is not Role.TEARDOWN:
                continue
            if rule.pattern.search(line.text) and not (
                rule.unless and rule.unless.search(line.text)
            ):
                yield rule.id, line.number


def _ruled(book: Rulebook, tail: str) -> Iterable[tuple[str, int]]:
    return ((hit.rule.id, hit.number) for hit in book.read(Scope.LOG, tail, NOW))


def _timed(
    read: Callable[[Rulebook, str], Iterable[tuple[str, int]]], book: Rulebook, tails: list[str]
) -> tuple[float, Found]:
    began = time.process_time()
    found = {(i, rule, n) for i, tail in enumerate(tails) for rule, n in read(book, tail)}
    return time.process_time() - began, found


def reading(book: Rulebook, tails: int, compared: int) -> dict[str, object]:
    """Measure reading; the naive way reads fewer, since it takes so long."""
    made = Tails(1)
    texts = [made.tail(LONG, GUILTY if n % 4 == 0 else SURVIVOR) for n in range(tails)]
    seconds, found = _timed(_ruled, book, texts)
    naive_s, all_found = _timed(naive, book, texts[:compared])
    weak = {rule.id for rule in book.rules if rule.weak}
    missed = {f for f in all_found - found if f[1] not in weak}
    size = sum(map(len, texts)) / 1e6
    rate, slow = size / seconds, sum(map(len, texts[:compared])) / 1e6 / naive_s
    return {
        "bench": "diagnose",
        "part": "read",
        "rules": len(book.rules),
        "tails": tails,
        "mb": round(size, 2),
        "mb_per_s": round(rate, 2),
        "naive_mb_per_s": round(slow, 3),
        "times_faster": round(rate / slow, 1),
        "missed": len(missed),
    }


def failed_job(made: Tails, guilty: int) -> Failure:
    """Make the failure of a job of 1,024 ranks, one of which is the cause."""

    def worker(rank: int) -> WorkerEvidence:
        first = (rank - guilty) % RANKS < FIRST
        ends = GUILTY if rank == guilty else SURVIVOR
        return WorkerEvidence(
            worker=f"worker-{rank}",
            node=f"node-{rank // 8}",
            rank=rank,
            exit_code=1 if rank == guilty else 134,
            ended_at=NOW + timedelta(seconds=0 if rank == guilty else 2),
            tail=made.tail(LONG if first else SHORT, ends),
        )

    workers = tuple(worker(rank) for rank in range(RANKS))
    return Failure(tenant="t", job="j", user="u", attempt=1, at=NOW, workers=workers, gpus=RANKS)


def judging(book: Rulebook, jobs: int) -> dict[str, object]:
    """Measure how long a failure of 1,024 ranks takes to judge."""
    made, took, right, size = Tails(2), [], 0, 0
    for number in range(jobs):
        guilty = number * 37 % RANKS
        failure = failed_job(made, guilty)
        size = sum(len(worker.tail) for worker in failure.workers)
        began = time.process_time()
        found = diagnose(failure, book, NOW)
        took.append(time.process_time() - began)
        right += found.first == f"worker-{guilty}" and found.rule == "gpu.ecc"
    took.sort()
    return {
        "bench": "diagnose",
        "part": "job",
        "ranks": RANKS,
        "jobs": jobs,
        "mb": round(size / 1e6, 2),
        "p50_s": round(statistics.median(took), 3),
        "p99_s": round(took[min(len(took) - 1, int(len(took) * 0.99))], 3),
        "right": right,
    }


def main() -> None:
    """Print a line for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tails", type=int, default=64, help="tails of 64 KiB to read")
    parser.add_argument("--compared", type=int, default=8, help="of these, read naively too")
    parser.add_argument("--jobs", type=int, default=100, help="failures of 1,024 ranks to judge")
    options = parser.parse_args()
    book = shipped()
    print(json.dumps(reading(book, options.tails, options.compared)), flush=True)
    print(json.dumps(judging(book, options.jobs)), flush=True)


if __name__ == "__main__":
    main()
