"""Asks running workers for their jobs' own metrics and shows them under the platform's labels.

A loop of the executor, and its page `/metrics/jobs`. What one worker may cost is bounded: time,
bytes, series; and so is the sum of all. A job that is not running has no series. It decides
nothing, and nothing of it is on the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import structlog

from muster.domain.phases import Phase
from muster.domain.spec import MetricsSpec
from muster.domain.state import JobState
from muster.executor.backends import Backend, Observed, WorkerKey, WorkerStatus
from muster.executor.core.job_metrics import Scraped, Series, platform_labels
from muster.executor.exposition import Family, TooManySeries, page, read
from muster.executor.handlers import Handlers
from muster.executor.settings import ExecutorSettings

ANSWER_S = 3.0
LARGEST = 1 << 20
"""Bytes of one worker's page."""
AT_ONCE = 8
_RUNS = (Phase.RUNNING, Phase.EVICTING)
_KIND = "text/plain; version=0.0.4"


class _TooLarge(Exception):
    """More bytes than a page may have."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What came of asking one worker last."""

    outcome: Scraped
    labels: dict[str, str]
    families: tuple[Family, ...] = ()

    @property
    def series(self) -> int:
        return sum(len(family.series) for family in self.families)


@dataclass(frozen=True, slots=True)
class _Asked:
    state: JobState
    worker: Observed
    metrics: MetricsSpec
    labels: dict[str, str]


class JobMetrics:
    """`step` is a loop's turn, `page` what is shown now."""

    def __init__(self, backend: Backend, handlers: Handlers, settings: ExecutorSettings) -> None:
        self._backend, self._handlers, self._settings = backend, handlers, settings
        self._seen: dict[WorkerKey, _Seen] = {}
        self._told: dict[WorkerKey, Scraped] = {}

    async def step(self) -> None:
        """Ask every running worker whose job exposes metrics."""
        holds = await self._handlers.holder.holds()
        asked = [one async for one in self._asked()] if holds else []
        doors, found = asyncio.Semaphore(AT_ONCE), dict[WorkerKey, _Seen]()
        async with _client() as client:

            async def ask(one: _Asked) -> None:
                async with doors:
                    found[one.worker.key] = await self._ask(client, one)

            await asyncio.gather(*(ask(one) for one in asked))
        self._seen = _within(self._settings.metrics_total, found)
        self._tell()

    async def _asked(self) -> AsyncIterator[_Asked]:
        jobs, nodes = self._handlers.watch.jobs, self._handlers.watch.nodes
        for worker in await self._backend.observe():
            state = jobs.get(worker.key.job)
            if state is None or not _runs(state, worker.key.attempt):
                continue
            metrics = (await self._handlers.spec(state)).metrics
            if metrics is None or worker.status is not WorkerStatus.RUNNING:
                continue
            node = nodes.get(worker.node)
            zone = node.shape.zone if node is not None else ""
            labels = platform_labels(state, self._settings.cluster, zone, worker.key.worker)
            yield _Asked(state, worker, metrics, labels)

    async def _ask(self, client: httpx.AsyncClient, one: _Asked) -> _Seen:
        outcome, families = await self._outcome(client, one)
        return _Seen(outcome, one.labels, families)

    async def _outcome(
        self, client: httpx.AsyncClient, one: _Asked
    ) -> tuple[Scraped, tuple[Family, ...]]:
        address = await self._backend.serves(one.worker.key, one.metrics.port)
        if address is None:
            return Scraped.NOT_SERVED, ()
        try:
            async with asyncio.timeout(ANSWER_S):
                text = await _text(client, f"{address}{one.metrics.path}")
            limit = self._settings.metrics_series
            return Scraped.OK, await asyncio.to_thread(read, text, one.labels, limit)
        except TimeoutError:
            return Scraped.SLOW, ()
        except _TooLarge:
            return Scraped.TOO_LARGE, ()
        except TooManySeries:
            return Scraped.TOO_MANY, ()
        except (httpx.HTTPError, httpx.InvalidURL):
            return Scraped.REFUSED, ()
        except (ValueError, KeyError, IndexError):  # all of them the parser's words for "no"
            return Scraped.UNREADABLE, ()

    def _tell(self) -> None:
        """Say once of a worker that it cannot be asked; when it can, it is news again."""
        now = {key: seen.outcome for key, seen in self._seen.items()}
        for key, outcome in now.items():
            if outcome not in {Scraped.OK, self._told.get(key)}:
                structlog.get_logger().warning(
                    "no metrics of a job", job=key.job, worker=key.worker, why=outcome.value
                )
        self._told = now

    def page(self) -> bytes:
        """Return the page: of jobs that run now, and of nobody else."""
        jobs = self._handlers.watch.jobs
        living = [
            seen
            for key, seen in self._seen.items()
            if (state := jobs.get(key.job)) is not None and _runs(state, key.attempt)
        ]
        families = [family for seen in living for family in seen.families]
        return page([_outcomes(living), *families])


def _runs(state: JobState, attempt: int) -> bool:
    return state.phase in _RUNS and state.attempt == attempt


def _outcomes(living: list[_Seen]) -> Family:
    """Return the platform's own word on each worker: a job whose figures are missing is seen."""
    name = "muster_job_metrics"
    series = [Series(name, seen.labels | {"outcome": seen.outcome.value}, 1) for seen in living]
    text = "1 for each running worker whose job exposes metrics, by what came of asking it last"
    return Family(name, "gauge", text, tuple(series))


def _within(limit: int, found: dict[WorkerKey, _Seen]) -> dict[WorkerKey, _Seen]:
    """Keep the sum of all series within a bound; who comes first by name is kept, always."""
    kept: dict[WorkerKey, _Seen] = {}
    for key, seen in sorted(found.items()):
        limit -= seen.series
        kept[key] = seen if limit >= 0 else _Seen(Scraped.NO_ROOM, seen.labels)
        limit += 0 if limit >= 0 else seen.series
    return kept


def _client() -> httpx.AsyncClient:
    """A client that goes where it is sent and nowhere else: no proxy, no redirect, no login."""
    headers = {"accept": _KIND, "accept-encoding": "identity"}
    return httpx.AsyncClient(
        trust_env=False, follow_redirects=False, timeout=ANSWER_S, headers=headers
    )


async def _text(client: httpx.AsyncClient, url: str) -> str:
    body = bytearray()
    async with client.stream("GET", url) as answer:
        answer.raise_for_status()
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("encoded, although not asked to")
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) > LARGEST:
                raise _TooLarge
    return body.decode("utf-8")
