"""A short, readable report of what led to a broken invariant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from muster.log.memory import StoredEntry
from muster.testing.violation import Violation
from muster.testing.world import World

EVENTS = 25
CHOICES = 30


def history_of(world: World, violation: Violation) -> Iterator[str]:
    """Yield lines: the last events of the job or node concerned, then the last choices."""
    subject = violation.subject
    entries = [e for e in world.store.entries if not subject or subject in e.subject]
    yield f"last events of {subject or 'everything'}:"
    for entry in entries[-EVENTS:]:
        yield f"  {_line(entry)}"
    yield f"last choices, of {world.steps} (t={world.time.elapsed:.3f} s):"
    choices = world.dice.choices
    for choice in islice(choices, max(0, len(choices) - CHOICES), None):
        yield f"  {choice}"


def _line(entry: StoredEntry) -> str:
    head = f"{entry.seq:>5} {entry.at:%d %H:%M:%S}"
    if entry.event is None:
        return f"{head} {entry.subject}: {entry.why}"
    data = entry.event.data
    job, detail = getattr(data, "job", None), data.detail
    if job is None:
        return f"{head} {entry.subject} {detail}"
    name = entry.subject.rpartition(".")[2]
    held = {node: list(workers) for node, workers in job.held.items()}
    marks = "".join(mark for mark, on in (("L", job.launched), ("S", job.signalled)) if on)
    return (
        f"{head} v{job.version} {name:<20} {job.phase:<13} attempt {job.attempt} {marks:<2}"
        f" held {held} by {entry.event.source.partition('/')[2]}"
    )
