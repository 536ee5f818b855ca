"""What a replay is told, apart from the files: how jobs queue, fail, and are watched over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.cli.errors import CliError
from muster.cli.words import plain
from muster.domain.demand import QueueLimits, ResourceClass
from muster.scheduler.core.policy import Order, Policy, SpotQuota

CHECKPOINT_S = 3600.0
"""What published replays of spot clusters assume: a checkpoint every hour."""

SPOT_QUEUE = QueueLimits(max_queue_hours=12, max_requeues=3)


@dataclass(frozen=True, slots=True)
class Queueing:
    """limits: auto-queue of every job; None = of spot jobs alone (they get but one round without).

    off: no job has auto-queue. resumes: whether a person resumes a parked job at once.
    """

    limits: QueueLimits | None = None
    off: bool = False
    resumes: bool = False

    def of(self, kind: ResourceClass) -> QueueLimits | None:
        """Return the auto-queue of a job of this class."""
        if self.off:
            return None
        return self.limits or (SPOT_QUEUE if kind is ResourceClass.SPOT else None)


@dataclass(frozen=True, slots=True)
class Settings:
    """checkpoint_s: what ran since the last checkpoint is lost with an eviction; None = all of it.

    limits: whether jobs declare their true length as `max_runtime_s`. round_every_s: rounds are
    at least so far apart.
    """

    policy: Policy = field(default_factory=Policy)
    queueing: Queueing = field(default_factory=Queueing)
    checkpoint_s: float | None = CHECKPOINT_S
    limits: bool = False
    round_every_s: float = 0.0


def policy_with(changes: Iterable[str]) -> Policy:
    """Return the policy that `name=value` texts make of the usual one. Raises CliError."""
    usual = Policy()
    known = sorted(
        each.name for each in dataclasses.fields(Policy) if type(getattr(usual, each.name)) in _READ
    )
    values: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if not hasattr(usual, name):
            raise CliError(
                "replay_policy_name", change=plain(change), name=plain(name), known=", ".join(known)
            )
        try:
            values[name] = _READ[type(getattr(usual, name))](text)
        except (KeyError, ValueError) as error:
            raise CliError("replay_policy", change=plain(change), known=", ".join(known)) from error
    return dataclasses.replace(usual, **values)


_READ: Mapping[type, Callable[[str], Any]] = {
    bool: {"true": True, "false": False}.__getitem__,
    int: int,
    float: float,
    str: str,
    tuple: lambda text: tuple(part for part in text.split(",") if part),
    Order: Order,
    SpotQuota: SpotQuota,
}
"""Kind of a field -> how it is read. A field of another kind cannot be set by a text."""
