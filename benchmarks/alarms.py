"""Outstanding queue alarms on a real server that is killed while they ring: one JSON line.

`make bench-alarms`, or `make bench-alarms ARGS="--outstanding 2000"`. Runs a nats-server that syncs
every write, and requeue in a process of its own, as in production; every job waits in the queue and
its hour ends soon. The server is killed with SIGKILL twice while they ring.

lost: jobs that did not end. extra: rings beyond one a job, of which some were put there on purpose
(early, for another limit, after the end). set_first: alarms that stood on the server before the
first one rang; the rate counts from the start of requeue's process. events: records that a queueing
has timed out, one a job and no more. late: from the deadline until the server rings; heard: until
requeue hears it; ended: until the end is recorded, which waits for one more round of a scheduler
that looks every quarter of a second, and for the index. never_rang: ended by the index before an
alarm was set, or before it was heard. idle_turn_ms, bytes: CPU of a turn of the index when nothing
is due, and its memory for a deadline.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import sys
import tempfile
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.alarms_jobs import waiting
from benchmarks.alarms_run import Size, run
from muster.domain.deadlines import armed
from muster.domain.edges import Owner
from muster.runtime.deadline_index import DeadlineIndex

OUTSTANDING = 100_000
TURNS = 200


def index_costs(kept: int) -> dict[str, float]:
    """CPU of an idle turn and bytes of a deadline, with so many kept."""
    now = datetime.now(UTC)
    states = [
        waiting(f"j{number:019d}", now + timedelta(hours=1 + 11 * number / kept))
        for number in range(kept)
    ]
    wanted = [(state, tuple(armed(state, Owner.REQUEUE))) for state in states]
    gc.collect()
    tracemalloc.start()
    index = DeadlineIndex()
    for state, deadlines in wanted:
        index.note(state, deadlines, now, 0.0)
        index.note_set(state.job, *deadlines[0], now, 0.0)
    index.take_due(now, 0.0, 1)
    index.take_missing(now, 0.0, 1)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    began = time.process_time()
    for _ in range(TURNS):
        if index.take_due(now, 0.0, 1) or index.take_missing(now, 0.0, 1):
            raise SystemExit("something is due that should not be")
    turn = (time.process_time() - began) / TURNS
    return {"idle_turn_ms": round(turn * 1000, 4), "bytes": round(size / kept)}


def main() -> None:
    parser = argparse.ArgumentParser(description="queue alarms on a server that is killed")
    parser.add_argument("--outstanding", type=int, default=OUTSTANDING)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--lead", type=float, help="seconds before the first one rings")
    parser.add_argument("--span", type=float, help="seconds in which all of them ring")
    chosen = parser.parse_args()
    count = chosen.outstanding
    logging.disable(logging.ERROR)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    size = Size(
        count,
        lead=chosen.lead or 20 + count / 400,
        span=chosen.span or max(10.0, count / 500),
        kills=chosen.kills,
    )
    costs = index_costs(count)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        outcome = asyncio.run(run(size, Path(folder)))
    print(json.dumps(outcome.line() | costs))


if __name__ == "__main__":
    main()
