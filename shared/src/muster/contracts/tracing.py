"""W3C trace context: one job is one trace, carried in the events themselves.

`continued` makes the trace of a trigger current while it is handled; `traceparent` is what a new
event carries. Works without any exporter: the context travels even when nobody records spans.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR = TraceContextTextMapPropagator()


@contextmanager
def continued(parent: str | None) -> Iterator[None]:
    """Run the block inside the trace that `parent` names, if it names one."""
    if not parent:
        yield
        return
    attached = context.attach(_PROPAGATOR.extract({"traceparent": parent}))
    try:
        yield
    finally:
        context.detach(attached)


def parent_context(parent: str | None) -> context.Context | None:
    """Return the context of a `traceparent`, None for none."""
    return _PROPAGATOR.extract({"traceparent": parent}) if parent else None


def traceparent(inherited: str | None = None) -> str | None:
    """Return the current trace context; `inherited` where there is one."""
    if inherited:
        return inherited
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get("traceparent")


def root_of(name: str) -> str:
    """Return the trace context of something that came without one: always the same for a name."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def note_append(service: str, event: str, parent: str | None, began_ns: int) -> None:
    """Record that a service wrote an event, as a span of the job's trace."""
    span = trace.get_tracer("muster.log").start_span(
        f"append {event}",
        context=parent_context(parent),
        kind=trace.SpanKind.PRODUCER,
        attributes={"muster.service": service, "muster.event": event},
        start_time=began_ns,
    )
    span.end()
