"""Where a job's trace begins: with the request that a program outside sends."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR = TraceContextTextMapPropagator()
_TRACER = trace.get_tracer("muster.client")


@contextmanager
def begun(verb: str) -> Iterator[str]:
    """Run the block as a span of the caller's trace, or of a new one; yields its traceparent.

    Without an exporter the ids still travel, so that a job is one trace for whoever records it.
    """
    with _TRACER.start_as_current_span(
        f"request {verb}", kind=trace.SpanKind.PRODUCER, attributes={"muster.request.verb": verb}
    ):
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        yield carrier.get("traceparent") or _new()


def _new() -> str:
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
