"""Where a job's trace begins: with the request that a program outside sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace

from muster.contracts.tracing import root_of, traceparent

_TRACER = trace.get_tracer("muster.client")


@contextmanager
def begun(verb: str, tenant: str, request: str) -> Iterator[str]:
    """Run the block as a span of the caller's trace, or of a new one; yields its traceparent.

    Where nobody records spans the ids travel all the same, so that a job is one trace for whoever
    does; a request that is sent again is the same trace then.
    """
    with _TRACER.start_as_current_span(
        f"request {verb}", kind=trace.SpanKind.PRODUCER, attributes={"muster.request.verb": verb}
    ):
        yield traceparent() or root_of(f"{tenant}/{request}")
