"""Auto-queue as people write it in a specification or a request, and the limits that it means.

Types are literal: true is not 1, "2" is not 2. What rules need more than one field is in
`spec_rules`. Read wherever a specification or a change of limits comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from muster.domain.demand import QueueLimits
from muster.domain.model import Strict


class _Differ:
    """Two values of one limit."""


def _merged(one: object, other: object) -> object:
    """Return what two names of one limit say together; true is not 1."""
    if one is None or other is None:
        return other if one is None else one
    return one if (type(one), one) == (type(other), other) else _Differ()


def _one_limit(value: object) -> object:
    if isinstance(value, _Differ):
        raise PydanticCustomError("E_REQUEUES_TWICE", "Input should have one name")
    return value


class AutoQueueSpec(Strict):
    """Waiting for room: hours for each queueing, and how often the job may queue again.

    `max_retries`, as some pages call it, is read as max_requeues and shown as what it is. Both with
    one value are one limit; both with different ones are refused.
    """

    enabled: bool = False
    max_queue_hours: Annotated[int, Field(ge=1, le=12)] | None = None
    max_requeues: Annotated[
        Annotated[int, Field(ge=0, le=3)] | None, BeforeValidator(_one_limit)
    ] = Field(default=None, validation_alias=AliasChoices("max_requeues", "max_retries"))

    @model_validator(mode="before")
    @classmethod
    def _both_names(cls, value: Any) -> Any:
        """Make one value of two; the field refuses two that differ, beside what else is wrong."""
        if not isinstance(value, Mapping) or not {"max_requeues", "max_retries"} <= value.keys():
            return value
        one, other = value["max_requeues"], value["max_retries"]
        limit = _merged(one, other)
        return {**{k: v for k, v in value.items() if k != "max_retries"}, "max_requeues": limit}


def queue_limits(spec: AutoQueueSpec) -> QueueLimits | None:
    """Return the limits when auto-queue is on. The spec must be valid: both limits are set."""
    if not spec.enabled or spec.max_queue_hours is None or spec.max_requeues is None:
        return None
    return QueueLimits(max_queue_hours=spec.max_queue_hours, max_requeues=spec.max_requeues)
