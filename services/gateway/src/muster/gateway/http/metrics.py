"""What `/metrics` shows, in the Prometheus text format; labels are few and known."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.gateway.hub import Hub
from muster.gateway.reading import Reading


class Metrics:
    """Counters of one server beside those of the whole process."""

    def __init__(self, reading: Reading, hub: Hub) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Present(reading, hub))
        self.requests = Counter(
            "muster_gateway_requests_total",
            "Answers by route and status",
            ["route", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "muster_gateway_request_seconds",
            "Time until an answer began",
            ["route"],
            registry=self._registry,
        )
        self.dropped = Counter(
            "muster_gateway_streams_dropped_total",
            "Streams that ended because their client read too slowly",
            registry=self._registry,
        )

    def text(self, waiting: int | None, end: int | None) -> bytes:
        """Return everything. waiting: unarchived messages; end: of the log; None = unknown now."""
        now = CollectorRegistry()
        now.register(_Asked(waiting, end))
        return generate_latest(REGISTRY) + generate_latest(self._registry) + generate_latest(now)


class _Present(Collector):
    """The view, counted when it is asked for."""

    def __init__(self, reading: Reading, hub: Hub) -> None:
        self._reading, self._hub = reading, hub

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See prometheus_client."""
        view = self._reading.view
        yield _gauge("muster_gateway_view_position", "Sequence that the view has", view.position)
        yield _gauge("muster_gateway_streams", "Streams that are open", self._hub.listeners)
        yield self._jobs()
        yield self._gpus()

    def _jobs(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "muster_jobs", "Jobs that are not archived yet", labels=["pool", "phase"]
        )
        jobs = (seen.state for seen in self._reading.view.jobs.values())
        tally = Tally((state.pool, state.phase.value) for state in jobs if not state.archived)
        for labels, count in sorted(tally.items()):
            family.add_metric(labels, count)
        return family

    def _gpus(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "muster_pool_gpus",
            "GPUs of a pool: total, used, foreign, free",
            labels=["pool", "state"],
        )
        for pool in self._reading.pools():
            use = pool.use
            if not use.nodes and not use.jobs:
                continue  # a pool that is gone has no figures
            for state, gpus in (
                ("total", use.gpus),
                ("used", use.gpus_used),
                ("foreign", use.gpus_foreign),
                ("free", use.gpus_free),
            ):
                family.add_metric((pool.name, state), gpus)
        return family


class _Asked(Collector):
    """What had to be asked of the server for this page; absent when it does not answer."""

    def __init__(self, waiting: int | None, end: int | None) -> None:
        self._waiting, self._end = waiting, end

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See prometheus_client."""
        if self._waiting is not None:
            help_text = "Events of the log that are not in the archive yet"
            yield _gauge("muster_gateway_archive_waiting", help_text, self._waiting)
        if self._end is not None:
            yield _gauge("muster_log_end", "Last sequence of the log", self._end)


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text)
    family.add_metric((), value)
    return family
