"""A fold on disk, so that a scheduler starts without reading the whole log.

Never trusted: a file of another format, of other pools, damaged, or of another log than the one at
hand is left alone, and the log is read from its beginning. The file names the newest event that it
knows; a log that has that event, by id, at that sequence has everything before it too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from muster.contracts import subjects
from muster.contracts.events import read_event
from muster.domain.causes import EvictionCause
from muster.domain.demand import StabilityLevel
from muster.domain.errors import Permanent
from muster.domain.survival import Outlook
from muster.log import EventLog, Recorded
from muster.scheduler.core.runtimes import Histogram, Kind, Runtimes
from muster.scheduler.core.snapshot import Eviction
from muster.scheduler.core.stays import Stay
from muster.scheduler.cycle.fold import Fold
from muster.scheduler.cycle.kept import Written, written

FORMAT = 4


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A fold, and the sequence up to which it has read."""

    fold: Fold
    position: int


def save(path: Path, fold: Fold, position: int) -> bool:
    """Replace the file by the fold as it is now, whole or not at all. False if it cannot be."""
    if fold.last is None:
        return False
    body = json.dumps(_content(fold, fold.last, position), sort_keys=True)
    text = json.dumps({"hash": _hash(body), "body": body})
    new = path.with_suffix(".new")
    try:
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        structlog.get_logger().warning("no checkpoint", path=str(path), why=str(error))
        return False
    return True


def _content(fold: Fold, last: Recorded, position: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "pools": sorted(fold.only),
        "position": position,
        "last": _packed(written(last), None),
        "items": [_packed(one, stay) for one, stay in fold.items()],
        "signs": {name: pool.sign for name, pool in fold.pools.items()},
        "epoch_heads": {name: pool.epoch_head for name, pool in fold.pools.items()},
        "runtimes": {name: list(pool.runtimes.packed()) for name, pool in fold.pools.items()},
        "evictions": {
            name: [_eviction(one) for one in pool.evictions] for name, pool in fold.pools.items()
        },
        "stays": {name: [_stay(one) for one in pool.stays] for name, pool in fold.pools.items()},
    }


def _eviction(one: Eviction) -> list[Any]:
    found = [one.at.isoformat(), *one.victim, one.by, one.cause.value, one.void]
    return [*found, list(one.spot_models)]


def _evicted(item: Sequence[Any]) -> Eviction:
    at, tenant, job, by, cause, void, models = item
    when, why = datetime.fromisoformat(at), EvictionCause(cause)
    return Eviction(when, (tenant, job), by, why, void, tuple(models))


def _stay(one: Stay) -> list[Any]:
    return [one.level.value, one.outlook.model_dump(mode="json"), one.ended.isoformat(), one.lost]


def _stayed(item: Sequence[Any]) -> Stay:
    level, outlook, ended, lost = item
    return Stay(
        StabilityLevel(level), Outlook.model_validate(outlook), datetime.fromisoformat(ended), lost
    )


def _packed(one: Written, stay: int | None) -> dict[str, Any]:
    return {
        "seq": one.seq,
        "head": one.head,
        "at": one.at,
        "stay": stay,
        "subject": one.subject,
        "event": one.body,
    }


def _unpacked(item: dict[str, Any]) -> Recorded:
    return Recorded(
        event=read_event(item["subject"], item["event"].encode()),
        seq=item["seq"],
        at=datetime.fromisoformat(item["at"]),
        head=item["head"],
    )


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


async def load(path: Path, only: frozenset[str], log: EventLog) -> Checkpoint | None:
    """Return what the file holds, None if there is none for this log."""
    content = _read(path)
    if content is None or content["pools"] != sorted(only):
        return None
    try:
        last = _unpacked(content["last"])
        items = [(_unpacked(item), item["stay"]) for item in content["items"]]
    except (Permanent, KeyError, ValueError) as error:
        structlog.get_logger().warning("checkpoint discarded", path=str(path), why=str(error))
        return None
    if not await _is_of(log, last, content["position"]):
        structlog.get_logger().warning("checkpoint discarded", path=str(path), why="another log")
        return None
    return Checkpoint(_fold(content, items, last, only), content["position"])


def _read(path: Path) -> dict[str, Any] | None:
    try:
        outer = json.loads(path.read_text())
        if _hash(outer["body"]) != outer["hash"]:
            raise ValueError("its hash is another one")
        content: dict[str, Any] = json.loads(outer["body"])
        return content if content["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        structlog.get_logger().warning("checkpoint discarded", path=str(path), why=str(error))
        return None


async def _is_of(log: EventLog, last: Recorded, position: int) -> bool:
    if await log.end() < position:
        return False
    history = await log.history(subjects.parse(last.event.subject).key)
    return any(
        isinstance(item, Recorded) and item.seq == last.seq and item.event.id == last.event.id
        for item in history
    )


def _fold(
    content: dict[str, Any],
    items: Sequence[tuple[Recorded, int | None]],
    last: Recorded,
    only: frozenset[str],
) -> Fold:
    fold = Fold(only)
    for recorded, stay in items:
        fold.take(recorded, stay)
    for name, pool in fold.pools.items():
        pool.sign = content["signs"].get(name, 0)
        pool.epoch_head = content["epoch_heads"].get(name, 0)
        pool.runtimes = unpacked(content["runtimes"].get(name, ()))
        pool.evictions.clear()
        pool.evictions.extend(_evicted(item) for item in content["evictions"].get(name, ()))
        for item in content["stays"].get(name, ()):
            pool.stays.add(_stayed(item))
    fold.last = last
    return fold


def unpacked(packed: Iterable[tuple[Sequence[str], Sequence[Sequence[int]]]]) -> Runtimes:
    return Runtimes(
        {
            Kind(*kind): Histogram(tuple((bucket, count) for bucket, count in counts))
            for kind, counts in packed
        }
    )
