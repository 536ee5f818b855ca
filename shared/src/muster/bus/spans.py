"""What is current while a handler runs: its trigger's trace, a span, fields of every log line.

Names are of low cardinality; the job is an attribute. Called by the bus around each handler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from opentelemetry import trace

from muster.bus import Question, Trigger
from muster.bus.triggers import traceparent_of
from muster.contracts.tracing import parent_context

_TRACER = trace.get_tracer("muster.bus")


@contextmanager
def handling(durable: str, trigger: Trigger) -> Iterator[None]:
    """Run the block inside the trigger's trace, as a span of it."""
    structlog.contextvars.bind_contextvars(durable=durable, trigger=trigger.subject)
    with _TRACER.start_as_current_span(
        f"process {durable}",
        context=parent_context(traceparent_of(trigger)),
        kind=trace.SpanKind.CONSUMER,
    ) as span:
        if span.is_recording():
            span.set_attributes(_attributes(durable, trigger))
        yield


@contextmanager
def answering(group: str, question: Question) -> Iterator[None]:
    """Run the block inside the asker's trace, as a span of it."""
    structlog.contextvars.bind_contextvars(desk=group, question=question.subject)
    parent = next((value for name, value in question.headers if name == "traceparent"), None)
    with _TRACER.start_as_current_span(
        f"answer {group}", context=parent_context(parent), kind=trace.SpanKind.SERVER
    ) as span:
        if span.is_recording():
            span.set_attribute("messaging.system", "nats")
            span.set_attribute("messaging.destination.template", template(question.subject))
            span.set_attribute("messaging.destination.name", question.subject)
        yield


def _attributes(durable: str, trigger: Trigger) -> dict[str, str | int]:
    return {
        "messaging.system": "nats",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.consumer.group.name": durable,
        "messaging.destination.template": template(trigger.subject),
        "messaging.destination.name": trigger.subject,
        "messaging.message.id": str(trigger.seq),
        "muster.delivered": trigger.delivered,
    }


def template(subject: str) -> str:
    """Return a subject's shape: its first token and its last, the names between them as stars."""
    first, *between = subject.split(".")
    return ".".join([first, *("*" for _ in between[:-1]), *between[-1:]])
