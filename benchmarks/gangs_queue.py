"""A long queue written straight into the log, as admission would have left it there.

A few events are made by the product's own rules; the others are copies with other names.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client

from benchmarks.gangs_client import TENANT
from muster.contracts import subjects
from muster.contracts.conditions import EXPECTED, EXPECTED_FILTER
from muster.contracts.events import Event, job_event
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.spec import JobSpec

BATCH = 998
NAME = "j" + "x" * 19
ID = "e" + "x" * 25


@dataclass(frozen=True, slots=True)
class Shape:
    """The two events of a job that was admitted, with names to be replaced."""

    submitted: bytes
    admitted: bytes

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Shape:
        """Make them from a specification."""
        wanted = JobSpec.model_validate_json(json.dumps(spec))
        fact = f.Submitted(
            tenant=TENANT,
            job=NAME,
            user="ann",
            pool="default",
            request=f"r-{NAME}",
            digest="0" * 64,
            spec=wanted,
            demand=wanted.demand(),
        )
        now = datetime.now(UTC)
        first = evolve(None, fact, now, Owner.ADMISSION)
        second = evolve(first, f.Admitted(), now, Owner.ADMISSION)
        events = (_event(first, fact, now), _event(second, f.Admitted(), now))
        return cls(*(event.to_bytes() for event in events))

    def named(self, job: str) -> Iterator[tuple[str, str, bytes]]:
        """Yield subject, id and body of both for a job of this name."""
        for name, body in (("submitted", self.submitted), ("admitted", self.admitted)):
            event_id = secrets.token_hex(13)
            own = body.replace(NAME.encode(), job.encode()).replace(ID.encode(), event_id.encode())
            yield subjects.job_key(TENANT, job).subject(name), event_id, own


def _event(state: Any, fact: f.Fact, at: datetime) -> Event:
    return job_event(state, fact, event_id=ID, source=f"muster/{Owner.ADMISSION}", at=at)


async def enqueue(connection: Client, specs: Sequence[Mapping[str, Any]], count: int) -> list[str]:
    """Write so many queued jobs, of each specification in turn; returns their names."""
    shapes = [Shape.of(spec) for spec in specs]
    names = [f"j{secrets.token_hex(10)[:19]}" for _ in range(count)]
    jobs = [(name, shapes[number % len(shapes)]) for number, name in enumerate(names)]
    for start in range(0, count, BATCH // 2):
        await _write(connection, jobs[start : start + BATCH // 2])
    return names


async def _write(connection: Client, jobs: Sequence[tuple[str, Shape]]) -> None:
    batch, number, last = secrets.token_hex(8), 0, 2 * len(jobs)
    for name, shape in jobs:
        condition = {EXPECTED: "0", EXPECTED_FILTER: subjects.job_key(TENANT, name).condition}
        for subject, event_id, body in shape.named(name):
            number += 1
            headers = {
                "Nats-Msg-Id": event_id,
                "Nats-Batch-Id": batch,
                "Nats-Batch-Sequence": str(number),
                **condition,
            }
            condition = {}
            if number < last:
                await connection.publish(subject, body, headers=headers)
                continue
            headers["Nats-Batch-Commit"] = "1"
            answer = await connection.request(subject, body, timeout=60, headers=headers)
            if "error" in json.loads(answer.data):
                raise SystemExit(f"filling the queue failed: {answer.data.decode()}")
