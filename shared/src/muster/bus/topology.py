"""Streams, consumers and desks as data: the one tool `provision` makes a server look like this.

Every service names its consumers here and nowhere else, so that a server can be provisioned without
any service's code. Times are seconds, sizes bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.contracts import subjects
from muster.domain.edges import Owner

DAY = 86_400


class Stream(StrEnum):
    """Names of the streams."""

    EVENTS = "EVENTS"
    REQUESTS = "REQUESTS"
    ANSWERS = "ANSWERS"
    TIMERS = "TIMERS"
    STATUS = "STATUS"
    PARKED = "PARKED"
    REPLAYS = "REPLAYS"


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """One stream. Zero means no limit. Only TIMERS may carry schedules: their headers bypass
    permissions, so nobody from outside may write there.

    source: stream, subjects there, subjects here. republish: what is stored on the first subjects
    also goes out on the second ones, for whoever listens without JetStream.
    """

    name: Stream
    subjects: tuple[str, ...]
    max_age: float = 0
    max_bytes: int = 0
    max_message: int = 1_048_576
    per_subject: int = 0
    duplicate_window: float = 120
    atomic: bool = False
    schedules: bool = False
    source: tuple[Stream, str, str] | None = None
    republish: tuple[str, str] | None = None
    deny_delete: bool = False
    description: str = ""


STREAMS: tuple[StreamSpec, ...] = (
    StreamSpec(
        Stream.EVENTS,
        ("jobs.>", "pools.>", "tenants.>", "clusters.>", "incidents.>"),
        atomic=True,
        republish=(subjects.STATUS_SOURCE, subjects.STATUS_TARGET),
        description="Every fact. Never aged, never edited.",
    ),
    StreamSpec(
        Stream.REQUESTS,
        ("requests.>",),
        max_age=7 * DAY,
        max_bytes=1 << 30,
        max_message=262_144,
        duplicate_window=3600,
        description="What outside systems ask for.",
    ),
    StreamSpec(
        Stream.ANSWERS,
        ("answers.>",),
        max_age=7 * DAY,
        per_subject=1,
        description="What became of each request.",
    ),
    StreamSpec(
        Stream.TIMERS,
        ("timers.>", "alarms.>"),
        per_subject=1,
        schedules=True,
        description="Alarms of stored deadlines.",
    ),
    StreamSpec(
        Stream.STATUS,
        (),
        per_subject=1,
        source=(Stream.EVENTS, subjects.STATUS_SOURCE, subjects.STATUS_TARGET),
        description="The current state of every job, for anybody to read.",
    ),
    StreamSpec(
        Stream.PARKED,
        ("parked.>",),
        max_age=30 * DAY,
        duplicate_window=3600,
        description="Messages that nobody could handle, with the reason.",
    ),
    StreamSpec(
        Stream.REPLAYS,
        ("replays.>",),
        max_age=DAY,
        description="Parked messages on their way to their handler again.",
    ),
)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable pull consumer. in_flight: messages one replica handles at a time."""

    durable: str
    owner: Owner
    stream: Stream
    filters: tuple[str, ...]
    ack_wait: float = 30
    in_flight: int = 16
    new_only: bool = False

    @property
    def replays(self) -> str:
        """Subject on which parked messages of this consumer come again."""
        return f"replays.{self.stream}.{self.durable}"


def _jobs(*events: str) -> tuple[str, ...]:
    return tuple(f"jobs.*.*.{event}" for event in events)


AROUND_AN_INTERRUPTION = _jobs(
    "released", "requeued", "not_requeued", "requeue_exhausted", "stop_requested", "stopped"
)
"""Subjects of the events that begin or end an interruption, for requeue's own reading."""

_ALARMS = {
    owner: Consumer(f"{owner}-alarms", owner, Stream.TIMERS, (f"alarms.{owner}.>",))
    for owner in (Owner.EXECUTOR, Owner.REQUEUE, Owner.FAULT_TOLERANCE)
}

ADMISSION_REQUESTS = Consumer(
    "admission-requests",
    Owner.ADMISSION,
    Stream.REQUESTS,
    (subjects.ALL_REQUESTS,),
    in_flight=32,
)
EXECUTOR_JOBS = Consumer(
    "executor-jobs",
    Owner.EXECUTOR,
    Stream.EVENTS,
    (subjects.ALL_JOBS,),
)
EXECUTOR_ALARMS = _ALARMS[Owner.EXECUTOR]
REQUEUE_JOBS = Consumer(
    "requeue-jobs",
    Owner.REQUEUE,
    Stream.EVENTS,
    _jobs(
        "admitted",
        "released",
        "requeued",
        "resumed",
        "respecified",
        "unscheduled",
        "start_refused",
    ),
)
REQUEUE_ALARMS = _ALARMS[Owner.REQUEUE]
FAULT_JOBS = Consumer(
    "fault-tolerance-jobs", Owner.FAULT_TOLERANCE, Stream.EVENTS, _jobs("workers_failed", "hung")
)
FAULT_LIVES = Consumer(
    "fault-tolerance-lives",
    Owner.FAULT_TOLERANCE,
    Stream.EVENTS,
    _jobs(
        "admitted",
        "launching",
        "respecified",
        "resumed",
        "requeued",
        "declined",
        "not_requeued",
        "requeue_exhausted",
        "queue_timed_out",
        "escalated",
        "failed",
        "succeeded",
        "stop_requested",
        "stopped",
        "hold_ended",
    ),
)
FAULT_ALARMS = _ALARMS[Owner.FAULT_TOLERANCE]
NOTIFIER_JOBS = Consumer(
    "notifier-jobs",
    Owner.NOTIFIER,
    Stream.EVENTS,
    (subjects.ALL_JOBS, subjects.ALL_EXCLUSIONS, subjects.ALL_INCIDENTS),
    in_flight=8,
)
GATEWAY_ARCHIVE = Consumer("gateway-archive", Owner.GATEWAY, Stream.EVENTS, (), in_flight=64)

CONSUMERS: tuple[Consumer, ...] = (
    ADMISSION_REQUESTS,
    EXECUTOR_JOBS,
    EXECUTOR_ALARMS,
    REQUEUE_JOBS,
    REQUEUE_ALARMS,
    FAULT_JOBS,
    FAULT_LIVES,
    FAULT_ALARMS,
    NOTIFIER_JOBS,
    GATEWAY_ARCHIVE,
)
"""Every durable consumer there is; an empty filter means the whole stream."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Questions on core NATS; each is answered by one of the replicas that share the group.

    at_once: questions that one replica works on at a time. most_bytes: of a question.
    """

    group: str
    owner: Owner
    subjects: tuple[str, ...]
    at_once: int = 8
    most_bytes: int = 262_144


SCHEDULER_QUERIES = Desk("scheduler-queries", Owner.SCHEDULER, (subjects.ALL_QUERIES,))

EXECUTOR_EVIDENCE = Desk("executor-evidence", Owner.EXECUTOR, (subjects.ALL_EVIDENCE,))

FAULT_QUESTIONS = Desk("fault-tolerance-questions", Owner.FAULT_TOLERANCE, (subjects.ALL_FAULTS,))

FAULT_JUDGEMENTS = Desk(
    "fault-tolerance-judgements", Owner.FAULT_TOLERANCE, (subjects.ALL_JUDGEMENTS,)
)

NOTIFIER_QUESTIONS = Desk(
    "notifier-questions", Owner.NOTIFIER, (subjects.ALL_NOTICES,), most_bytes=65_536
)

DESKS: tuple[Desk, ...] = (
    SCHEDULER_QUERIES,
    EXECUTOR_EVIDENCE,
    FAULT_QUESTIONS,
    FAULT_JUDGEMENTS,
    NOTIFIER_QUESTIONS,
)
"""Every desk there is."""
