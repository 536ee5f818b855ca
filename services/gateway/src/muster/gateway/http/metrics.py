"""What `/metrics` shows, in the Prometheus text format; labels are few and known."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.bus import Room
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

    def text(self, waiting: int | None, end: int | None, rooms: Sequence[Room] = ()) -> bytes:
        """Return everything. waiting: unarchived messages; end: of the log; None = unknown now."""
        now = CollectorRegistry()
        now.register(_Asked(waiting, end))
        now.register(_Rooms(rooms))
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


class _Rooms(Collector):
    """How full the streams are: those that refuse what is new when they are full, above all."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        self._rooms = rooms

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See prometheus_client."""
        ratio = "Part of its room that a stream, or the account, uses; 0.7 is an alarm"
        families = (
            (_labelled("muster_stream_messages", "Messages that a stream holds"), "messages"),
            (_labelled("muster_stream_bytes", "Bytes that a stream holds"), "bytes"),
            (_labelled("muster_stream_full_ratio", ratio), "full"),
        )
        for family, field in families:
            for room in self._rooms:
                value = getattr(room, field)
                if value is not None:
                    family.add_metric((room.name,), value)
            yield family


def _labelled(name: str, help_text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, labels=["stream"])


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text)
    family.add_metric((), value)
    return family
