"""The composition root of the executor."""

from __future__ import annotations

from functools import partial

from muster.bus import Responder
from muster.domain.edges import Owner
from muster.executor.backends import Backend
from muster.executor.backends.local.backend import LocalBackend
from muster.executor.evidence import EvidenceDesk
from muster.executor.following import Following
from muster.executor.handlers import Handlers
from muster.executor.job_metrics import JobMetrics
from muster.executor.launches import Launches
from muster.executor.outlived import Outlived
from muster.executor.output import Output
from muster.executor.resuming import Resuming
from muster.executor.settings import ExecutorSettings
from muster.executor.signals import SignsOfLife
from muster.executor.stream import evidence_desk, subscriptions
from muster.runtime.journal import Journal
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service


def build(
    runtime: Runtime, settings: ExecutorSettings | None = None, backend: Backend | None = None
) -> Service:
    """Put the executor together over a runtime; without a backend, over this machine."""
    settings = settings or ExecutorSettings()
    if backend is None:
        folder = runtime.state_dir / "executor"
        backend = LocalBackend(folder, settings.nodes_file, workdir=settings.workdir)
    journal = Journal(Owner.EXECUTOR, runtime.log, runtime.clock, runtime.ids)
    launches = Launches(runtime.state_dir)
    handlers = Handlers(journal, backend, launches, settings)
    metrics = JobMetrics(backend, handlers, settings)
    clock, aside = runtime.clock, runtime.aside
    following = Following(backend, handlers.spec, clock, aside)
    signs = SignsOfLife(backend, handlers.watch, following, clock, aside)
    desk = EvidenceDesk(journal, backend, handlers, launches, signs, aside)
    resuming = Resuming(journal, following, handlers, settings.settle_s, aside)
    outlived = Outlived(journal, backend, handlers, settings.outlived_s, aside)
    return Service(
        owner=Owner.EXECUTOR,
        subscriptions=subscriptions(handlers),
        loops=(
            *_loops(handlers, Output(runtime.bus, backend, handlers.watch), settings),
            *_metrics(metrics, settings),
            *_progress(resuming, settings),
            *_outlived(outlived, settings),
        ),
        responders=(Responder(evidence_desk(settings.pool), desk.answer),),
        start=partial(_start, backend, handlers),
        ready=handlers.holder.require,
        pages={"/metrics/jobs": metrics.page} if settings.collect_metrics else {},
    )


async def _start(backend: Backend, handlers: Handlers) -> None:
    await backend.nodes()  # a mistake in the file of nodes is told now, before anything runs
    await handlers.holder.acquire()


def _loops(handlers: Handlers, output: Output, settings: ExecutorSettings) -> list[Loop]:
    loops = [
        Loop("log", handlers.on_log, settings.watch_s),
        Loop("nodes", handlers.sync_nodes, settings.nodes_s),
        Loop("changes", handlers.on_changes, 0.01, waits=True),
        Loop("sweep", handlers.sweep, settings.sweep_s),
        Loop("deadlines", handlers.deadlines.step, settings.sweep_s),
    ]
    if settings.publish_logs:
        loops.append(Loop("output", output.step, settings.logs_s))
    return loops


def _progress(resuming: Resuming, settings: ExecutorSettings) -> list[Loop]:
    if not settings.watch_progress:
        return []
    return [Loop("progress", resuming.step, settings.progress_s)]


def _outlived(outlived: Outlived, settings: ExecutorSettings) -> list[Loop]:
    if not settings.outlived_s:
        return []
    return [Loop("outlived", outlived.step, settings.outlived_look_s)]


def _metrics(metrics: JobMetrics, settings: ExecutorSettings) -> list[Loop]:
    return [Loop("metrics", metrics.step, settings.metrics_s)] if settings.collect_metrics else []


def main() -> None:
    """Run executor as a process of its own."""
    run(Owner.EXECUTOR, build)


if __name__ == "__main__":
    main()
