"""What is written down of a suspicion, and lines that tell of a collective that does not end. Pure.

Texts of jobs and clusters are data: one line each, shortened, nothing that is not printable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from muster.domain.diagnosis import TEXT
from muster.domain.evidence import JobSignals, WorkerSignals
from muster.fault_tolerance.core.hang import Reading, Suspicion

LINES = 24
"""Lines of evidence that an event carries."""
PLACES, OUTPUT = 8, 3
"""Different places that are shown, and last lines of each worker."""
FAMILIES, PLACE = 4, "stack of "
"""So many lines of families come first; how a line begins that tells where workers stand."""
LAST = 40
"""Lines of a worker's end in which a collective's trouble counts."""

_COLLECTIVE = re.compile(
    r"caught collective operation timeout"
    r"|collective operation .{0,80}timed? ?out"
    r"|NCCL WARN .{0,80}(?:timed? ?out|unresponsive)"
    r"|HCCL.{0,80}(?:timed? ?out|EI0002|EI0006)"
    r"|DDP hang|desync debug",
    re.IGNORECASE,
)


def collective(text: str) -> bool:
    """Tell whether the end of an output says that a collective operation does not end."""
    return any(_COLLECTIVE.search(line[:1000]) for line in text.splitlines()[-LAST:])


def described(
    found: Suspicion, reading: Reading, signals: JobSignals, output: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the lines that go with a suspicion, the most telling first."""
    lines = [
        *_families(found, reading, signals),
        *_places(signals),
        *_output(output),
    ]
    return tuple(_clean(line) for line in lines[:LINES])


def _families(found: Suspicion, reading: Reading, signals: JobSignals) -> Iterator[str]:
    where = "no step yet" if signals.step is None else f"step {signals.step}"
    yield (
        f"progress: {where}, stage {reading.stage}, nothing new for {reading.silent_s:.0f} s;"
        f" the limit is {reading.limit_s:.0f} s"
    )
    for told in reading.told[1:]:
        who = f", {told.worker}" if told.worker else ""
        said = f" ({told.why}{who}) for {told.seconds:.0f} s" if told.seconds else ""
        yield f"{told.family}: {told.sign}{said}"
    if found.exited:
        yield f"worker {found.worker} has ended with exit code 0 and the others stay"


def _places(signals: JobSignals) -> Iterator[str]:
    """Group workers by where they stand, the largest group first."""
    groups: dict[str, list[WorkerSignals]] = {}
    for worker in signals.workers:
        if worker.stack is not None:
            groups.setdefault(worker.stack, []).append(worker)
    for _, workers in sorted(groups.items(), key=lambda item: -len(item[1]))[:PLACES]:
        first = workers[0]
        more = f" and {len(workers) - 1} more" if len(workers) > 1 else ""
        yield f"{PLACE}{first.worker}{more}: {first.standing or first.stack}"


def _output(output: Mapping[str, str]) -> Iterator[str]:
    for worker, text in sorted(output.items()):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from (f"{worker} printed: {line}" for line in lines[-OUTPUT:])


def _clean(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= TEXT else f"{plain[: TEXT - 3]}..."


def shown_workers(workers: Iterable[str], odd: str | None) -> list[str]:
    """Return whose output is read: the first, the last, and the one that stands out."""
    names = list(workers)
    chosen = [*names[:1], *names[-1:], *(name for name in names if name == odd)]
    return list(dict.fromkeys(chosen))
