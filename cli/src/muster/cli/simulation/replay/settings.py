"""What a replay is told, apart from the files: how jobs queue, fail, and are watched over."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.cli.errors import CliError
from muster.domain.demand import QueueLimits, ResourceClass
from muster.scheduler.core.policy import Policy

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


def policy_with(changes: Sequence[str], **named: Any) -> Policy:
    """Return the policy that `name=value` texts and named values make. Raises CliError."""
    fields = {each.name: each for each in dataclasses.fields(Policy)}
    values: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or name not in fields:
            raise CliError("replay_policy", change=change, known=", ".join(sorted(fields)))
        values[name] = _read(change, getattr(Policy(), name), text, fields)
    return dataclasses.replace(Policy(), **values)


def _read(change: str, like: object, text: str, fields: Mapping[str, object]) -> object:
    try:
        match like:
            case bool():
                return {"true": True, "false": False}[text]
            case int():
                return int(text)
            case float():
                return float(text)
            case str():
                return type(like)(text)
            case tuple():
                return tuple(part for part in text.split(",") if part)
    except (KeyError, ValueError):
        pass
    raise CliError("replay_policy", change=change, known=", ".join(sorted(fields)))
