"""Prometheus' text format: reading what a worker says, within bounds, and writing the page of all.

Called by `job_metrics`. What is read was written by a job and is believed nothing of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from muster.executor.core.job_metrics import Labels, Series, owned, renamed

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_Identity = tuple[str, tuple[tuple[str, str], ...]]
KINDS = frozenset({"counter", "gauge", "histogram", "summary", "unknown"})
DOCUMENTED = 200
"""Characters of a metric's help that are kept."""


class TooManySeries(Exception):
    """More than is kept of one worker; nothing of it is, since a part would mislead."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of one worker, as the page shows it."""

    name: str
    kind: str
    help: str
    series: tuple[Series, ...]


def read(text: str, ours: Labels, limit: int) -> tuple[Family, ...]:
    """Read a worker's page. Raises ValueError when it is none, TooManySeries beyond `limit`."""
    found: list[Family] = []
    seen: set[_Identity] = set()
    for metric in text_string_to_metric_families(text):
        if _NAME.fullmatch(metric.name) is None:
            raise ValueError(f"{metric.name!r} is no name of a metric")
        series = tuple(_series(metric, ours, seen))
        limit -= len(metric.samples)
        if limit < 0:
            raise TooManySeries
        kind = metric.type if metric.type in KINDS else "unknown"
        family = Family(renamed(metric.name), kind, metric.documentation[:DOCUMENTED], series)
        found.append(family)
    return tuple(found)


def _series(metric: Metric, ours: Labels, seen: set[_Identity]) -> Iterator[Series]:
    for sample in metric.samples:
        one = owned(Series(sample.name, sample.labels, float(sample.value)), ours)
        if one is None:
            continue
        identity = (one.name, tuple(sorted(one.labels.items())))
        if identity not in seen:  # told twice: a page with both would be refused as a whole
            seen.add(identity)
            yield one


class _Page(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._metrics: dict[str, Metric] = {}
        for family in families:
            self._add(family)

    def _add(self, family: Family) -> None:
        metric = self._metrics.get(family.name)
        if metric is None:
            metric = self._metrics[family.name] = Metric(family.name, family.help, family.kind)
        elif metric.type != family.kind:
            metric.type = "unknown"  # two jobs mean different things by one name
        metric.samples += [Sample(s.name, dict(s.labels), s.value) for s in family.series]

    def collect(self) -> Iterable[Metric]:
        """See prometheus_client."""
        return self._metrics.values()


def page(families: Iterable[Family]) -> bytes:
    """Return one page of the metrics of many workers, each name once."""
    registry = CollectorRegistry()
    registry.register(_Page(families))
    return generate_latest(registry)
