"""What a scenario expects at one moment. Only what is written down is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from muster.domain.model import Strict
from muster.domain.nodes import NodeCondition
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import ReasonCode


def _several(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]


class JobCheck(Strict):
    """A job. on: the nodes that it holds, [] = none. entry: its queue entry. count: of its events.

    queue_until: second at which its queue entry ends. text, text_zh: parts of the reason's
    sentence. cards: worker -> its shared card. events: these, in this order, among others. never:
    none of these. processes: how many worker processes were ever started. waiting: why it waits,
    as the pool's summary says.
    """

    phase: Phase | None = None
    shown: Shown | None = None
    attempt: int | None = None
    entry: int | None = None
    queue_until: float | None = None
    one_shot: bool | None = None
    requeues: int | None = None
    restarts: int | None = None
    starts: int | None = None
    infrastructure: int | None = None
    hangs: int | None = None
    on: Texts | None = None
    cards: Mapping[str, int] | None = None
    reason: ReasonCode | None = None
    text: Texts = ()
    text_zh: Texts = ()
    waiting: str | None = None
    waits_for: Texts | None = None
    events: tuple[str, ...] = ()
    count: Mapping[str, int] = {}
    never: Texts = ()
    processes: int | None = None
    priority: int | None = None


class NodeCheck(Strict):
    """A node as the log has it, and the GPUs that no process has.

    foreign: GPUs that others take there, as the log has it.
    """

    condition: NodeCondition | None = None
    cordoned: bool | None = None
    free: int | None = None
    foreign: int | None = None


class Group(Strict):
    """How many of some jobs are in which phase: where it does not matter which."""

    jobs: Texts
    phases: Mapping[str, int]


class Check(Strict):
    """One moment. counts: of events in the whole log. parked: messages that nobody could handle.

    answers: label of a request -> "accepted", or the codes of its violations. said: label -> the
    English texts of its violations, word for word.
    """

    at: float
    jobs: Mapping[str, JobCheck] = {}
    groups: tuple[Group, ...] = ()
    nodes: Mapping[str, NodeCheck] = {}
    counts: Mapping[str, int] = {}
    answers: Mapping[str, Texts] = Field(default={})
    said: Mapping[str, Texts] = Field(default={})
    parked: int | None = None
