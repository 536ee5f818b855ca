"""Events for the log's suites: a job whose facts are legal, and facts about pools and nodes."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from muster.contracts import subjects
from muster.contracts.events import Event, job_event, pool_event
from muster.domain import facts as f
from muster.domain.demand import ResourceClass
from muster.domain.evolve import evolve
from muster.domain.pools import EpochTaken, RoundDecided
from muster.domain.spec import JobSpec, ResourceSpec
from muster.log import Append, Basis, nothing
from muster.runtime.ids import new_id

START = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
SPEC = JobSpec(
    name="train",
    image="registry/train:1",
    command=("python", "train.py"),
    resource=ResourceSpec(type=ResourceClass.SPOT, replicas=2, gpus_per_replica=4),
)


def fresh(prefix: str = "j") -> str:
    """A name that no other test uses."""
    return f"{prefix}{secrets.token_hex(8)}"


class Job:
    """A job of its own: `submitted`, then any number of `relabelled`."""

    def __init__(self) -> None:
        self.name = fresh()
        self._count = 0
        self._submitted = f.Submitted(
            tenant="acme",
            job=self.name,
            user="ann",
            pool="default",
            request=f"r-{self.name}",
            digest="d",
            spec=SPEC,
            demand=SPEC.demand(),
        )
        self._state = evolve(None, self._submitted, START)

    @property
    def key(self) -> subjects.Key:
        return subjects.job_key("acme", self.name)

    def subject(self, event: str) -> str:
        return self.key.subject(event)

    def submitted(self) -> Event:
        return self._wrapped(self._submitted)

    def admitted(self) -> Event:
        return self._next(f.Admitted())

    def relabelled(self) -> Event:
        """The next of a series: each counts one further."""
        self._count += 1
        return self._next(
            f.Relabelled(
                by="ann",
                request=f"r{self._count}",
                before=self._state.labels,
                labels={"n": str(self._count)},
            )
        )

    def first(self) -> Append:
        return Append(self.submitted(), nothing(self.key))

    def _next(self, fact: f.Fact) -> Event:
        self._state = evolve(self._state, fact, START)
        return self._wrapped(fact)

    def _wrapped(self, fact: f.Fact) -> Event:
        return job_event(self._state, fact, event_id=new_id(), source="muster/test", at=START)


def epoch(pool: str, number: int, holder: str = "one") -> Event:
    """The fact that fences a pool."""
    return pool_event(
        pool,
        EpochTaken(epoch=number, holder=holder),
        event_id=new_id(),
        source="muster/test",
        at=datetime.now(UTC),
    )


def epoch_key(pool: str) -> subjects.Key:
    return subjects.pool_key(pool, "epoch")


def decided(pool: str, number: int, epoch_seq: int) -> Append:
    """A round's fact, which only counts while the epoch is the one that was read."""
    now = datetime.now(UTC)
    fact = RoundDecided(epoch=number, round=1, upto=1, at=now)
    event = pool_event(pool, fact, event_id=new_id(), source="muster/test", at=now)
    return Append(event, Basis(epoch_key(pool), epoch_seq))
