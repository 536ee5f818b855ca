"""How a process shows itself: structured logs with trace ids, and spans when an exporter is set.

Called once by composition roots. OTLP export starts when OTEL_EXPORTER_OTLP_ENDPOINT (or its traces
variant) is set, and stays silent otherwise.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def configure(service: str, level: str = "INFO", style: str = "json") -> None:
    """Set up logs and traces of this process. style: json, or console for people."""
    _configure_logs(level, style)
    if any(os.environ.get(name) for name in _ENDPOINTS):
        _configure_traces(service)


def _configure_logs(level: str, style: str) -> None:
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if style == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_trace,
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _add_trace(
    logger: Any, method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        entry["trace_id"] = f"{context.trace_id:032x}"
    return entry


def _configure_traces(service: str) -> None:
    # imported only when it is used: the exporter takes a third of a second to import
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )

    provider = TracerProvider(resource=Resource.create({"service.name": f"muster-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
