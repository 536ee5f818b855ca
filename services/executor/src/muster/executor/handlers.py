"""Wake, read, compare with the cluster, act or append: one job at a time, one step at a time.

Effects are not fenced by the log, so before each one the executor makes sure that the cluster is
still its own (`clusters.<c>.epoch`), and asks for nothing that may not be asked twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from muster.bus import Trigger
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain import facts as f
from muster.domain.edges import IllegalEdge, Owner
from muster.domain.errors import Conflict, Permanent, Temporary
from muster.domain.nodes import NodeFact, NodeShape, NodeState
from muster.domain.phases import Phase
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.executor.backends import (
    Backend,
    NodeFacts,
    Observed,
    WorkerKey,
    WorkerStatus,
)
from muster.executor.backends.refusals import Refused
from muster.executor.core import nodes as node_core
from muster.executor.core.notices import Notices
from muster.executor.core.reconcile import (
    Forget,
    Kill,
    Launch,
    Record,
    Signal,
    Step,
    concerns,
    next_step,
    unexplained,
)
from muster.executor.core.view import Seen, View, Worker
from muster.executor.gate import Gate
from muster.executor.holder import Holder
from muster.executor.launches import Launches, MissingSecret
from muster.executor.leftovers import Leftovers, with_leftovers
from muster.executor.settings import ExecutorSettings
from muster.executor.watch import Watch
from muster.log import Recorded
from muster.runtime.deadlines import Deadlines
from muster.runtime.journal import Journal

STEPS = 50
"""Steps about one job in one go; a sweep goes on where this ends."""

_SEEN = {
    WorkerStatus.STARTING: Seen.STARTING,
    WorkerStatus.RUNNING: Seen.RUNNING,
    WorkerStatus.EXITED: Seen.ENDED,
    WorkerStatus.GONE: Seen.GONE,
}


class Handlers:
    """Everything the executor reacts to."""

    def __init__(
        self,
        journal: Journal,
        backend: Backend,
        launches: Launches,
        settings: ExecutorSettings,
    ) -> None:
        self._journal, self._backend, self._launches = journal, backend, launches
        self._settings = settings
        self.watch = Watch(journal.log, settings.pool, settings.cluster)
        self.holder = Holder(journal, settings.cluster)
        self.deadlines = Deadlines(Owner.EXECUTOR, journal.log, journal.clock, self.on_time)
        self._notices = Notices(journal.clock.of_server)
        self._leftovers = Leftovers(backend, self.watch, journal.log)
        self.gate = Gate(backend.checkpoints, monotonic=journal.clock.monotonic)
        self._specs: dict[str, JobSpec] = {}
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._changes = backend.changes()

    # --- what wakes it --------------------------------------------------------------------------

    async def on_job(self, trigger: Trigger) -> None:
        """Something was recorded about a job."""
        assert trigger.event is not None
        state: JobState = trigger.event.data.job
        if state.pool == self._settings.pool and concerns(state):
            await self.reconcile(state.tenant, state.job, trigger.seq)

    async def on_alarm(self, trigger: Trigger) -> None:
        """An alarm rang; the state says whether it still counts."""
        assert trigger.alarm is not None
        await self.on_time(trigger.alarm)

    async def on_time(self, alarm: Alarm) -> None:
        """A deadline of this job may be over."""
        await self.reconcile(alarm.tenant, alarm.job)

    async def on_changes(self) -> None:
        """Wait for workers to change and look at their jobs."""
        for job in sorted(await anext(self._changes)):
            tenant = self.watch.tenants.get(job)
            if tenant is not None:  # else this reading of the log lags; the sweep comes by
                await self.reconcile(tenant, job)

    async def on_log(self) -> None:
        """Read the log's news: room that was given back lets a beneficiary start."""
        for freed in await self.watch.read():
            for waiting in self.watch.waiting_for(freed.job):
                await self.reconcile(waiting.tenant, waiting.job)

    async def sweep(self) -> None:
        """Compare everything once: what no event or change told, this finds."""
        if not self.watch.caught_up or not await self.holder.holds():
            return
        by_job = _by_job(await self._backend.observe())
        now = self._journal.clock.now()
        for job in sorted(self.watch.jobs.keys() | by_job.keys()):
            state, tenant = self.watch.jobs.get(job), self.watch.tenants.get(job)
            if tenant is None:
                structlog.get_logger().warning("workers of a job not read of yet", job=job)
            elif state is None or self._owes(state, by_job.get(job, ()), now):
                await self.reconcile(tenant, job)

    def _owes(self, state: JobState, workers: Sequence[Observed], now: datetime) -> bool:
        return concerns(state) and next_step(state, self._view(workers), now) is not None

    # --- one job --------------------------------------------------------------------------------

    async def reconcile(self, tenant: str, job: str, at_least: int = 0) -> None:
        """Take every step that can be taken for a job now.

        Only one runs for a job at a time, so that an effect is never based on a view that another
        one has already acted on; whoever comes meanwhile makes it look once more.
        """
        if not self.watch.caught_up:
            raise Temporary("the executor still reads what became of nodes and jobs", delay=0.5)
        if job in self._busy:
            self._again.add(job)
            return
        self._busy.add(job)
        try:
            again = True
            while again:
                self._again.discard(job)
                await self._steps(tenant, job, at_least)
                again = job in self._again
        finally:
            self._busy.discard(job)
            self._again.discard(job)

    async def _steps(self, tenant: str, job: str, at_least: int) -> None:
        leader = False
        for _ in range(STEPS):
            await self.holder.require()
            last = await self._journal.job(tenant, job, at_least, leader=leader)
            if last is None:
                return
            step = await self._decide(last)
            if not leader and step is not None and not isinstance(step, Record):
                leader = True  # no condition guards an effect: only the newest word may ask for it
                continue
            if step is None or not await self._take(last, step):
                await self.deadlines.keep(last.job)
                return
            leader = True

    async def _decide(self, last: Recorded) -> Step | None:
        state = last.job
        gone = await self._victims_gone(state)
        workers = [w for w in await self._backend.observe() if w.key.job == state.job]
        step = next_step(state, self._view(workers, gone), self._journal.clock.now())
        if unexplained(step):
            # workers may be seen to be gone before the log knows that their node is
            view = self._view(workers, gone, await self._nodes_gone())
            step = next_step(state, view, self._journal.clock.now())
        return step

    async def _nodes_gone(self) -> frozenset[str]:
        """Return the nodes that the log has and the cluster no longer shows."""
        shown = {each.node for each in await self._backend.nodes()}
        ours = self._settings.cluster
        return frozenset(n for n, s in self.watch.nodes.items() if s.cluster == ours) - shown

    def _view(
        self,
        workers: Sequence[Observed],
        victims_gone: bool = True,
        nodes_gone: frozenset[str] = frozenset(),
    ) -> View:
        fences = self.watch.fenced
        outdated = {w.node for w in workers if _started_after(w, fences.get(w.node))}
        spot = {n for n in nodes_gone if self.watch.nodes[n].shape.spot}
        down = self.watch.down | (nodes_gone - spot)
        return View(
            workers=tuple(_worker(w, w.node in down) for w in workers),
            fenced=frozenset(fences.keys() - outdated),
            victims_gone=victims_gone,
            down=down,
            taken=self.watch.taken | spot,
        )

    async def _victims_gone(self, state: JobState) -> bool:
        if state.phase is not Phase.STARTING or state.launched:
            return True
        for wait in state.waits_for:
            victim = await self._journal.job(wait.tenant, wait.job, leader=True)
            if victim and victim.job.attempt == wait.attempt and victim.job.held:
                return False
        return True

    async def _take(self, last: Recorded, step: Step) -> bool:
        """Take one step; tell whether another may follow at once."""
        match step:
            case Record(fact):
                return await self._record(last, fact)
            case Launch(names):
                return await self._launch(last, names)
            case Signal(workers, deadline):
                outside = self._journal.clock.on_server(deadline)
                await self._backend.signal(_keys(last.job.job, workers), outside)
            case Kill(workers):
                await self._backend.kill(_keys(last.job.job, workers))
            case Forget(workers):
                await self._backend.forget(_keys(last.job.job, workers))
        return False

    async def _record(self, last: Recorded, fact: f.Fact) -> bool:
        if isinstance(fact, f.Launching):
            fact = await self.gate.passed(last.job, await self.spec(last.job), fact)
        try:
            await self._journal.record(self._journal.about_job(last, fact))
        except Conflict:
            return True
        except IllegalEdge as error:
            structlog.get_logger().error("step is not legal", job=last.job.job, why=str(error))
            return False
        return True

    # --- starting -------------------------------------------------------------------------------

    async def _launch(self, last: Recorded, names: tuple[str, ...]) -> bool:
        state = last.job
        spec = await self.spec(state)
        found = await self.gate.resume_from(state, spec)
        try:
            await self._backend.launch(self._launches.build(state, spec, names, found))
        except Refused as refused:
            nothing = len(names) == len(state.placed_on)
            return await self._refused(last, refused.blames_job, str(refused), refused.zh, nothing)
        except MissingSecret as missing:
            return await self._refused(last, True, str(missing), None, True)
        return False

    async def _refused(
        self, last: Recorded, permanent: bool, why: str, why_zh: str | None, nothing: bool
    ) -> bool:
        attempt = last.job.attempt
        if not nothing:
            return await self._record(last, f.StartFailed(attempt=attempt, why=why))
        wait = timedelta(seconds=self._settings.retry_s)
        fact = f.StartRefused(
            attempt=attempt,
            permanent=permanent,
            why=why,
            why_zh=why_zh,
            not_before=None if permanent else self._journal.clock.now() + wait,
        )
        return await self._record(last, fact)

    async def spec(self, state: JobState) -> JobSpec:
        """Return the specification, which stands only in `submitted`."""
        if state.job not in self._specs:
            prefix = subjects.job_key(state.tenant, state.job).subject("submitted")
            first = await self._journal.log.last(subjects.Key(prefix, whole=False))
            if first is None:
                raise Permanent(f"job {state.job} has no submitted event")
            if len(self._specs) > 1000:
                self._specs.clear()
            self._specs[state.job] = first.event.data.detail.spec
        return self._specs[state.job]

    # --- nodes ----------------------------------------------------------------------------------

    async def sync_nodes(self) -> None:
        """Tell the log which nodes the cluster has."""
        if not self.watch.caught_up or not await self.holder.holds():
            return
        leftover = await self._leftovers.gpus()
        shown = dict[str, node_core.Shown]()
        for each in await self._backend.nodes():
            name = each.node
            notice = self._notices.read(name, each.reclaim_at, self.watch.nodes.get(name))
            shown[name] = _shown(each, notice, leftover[name])
        for name in sorted(shown.keys() | self.watch.nodes.keys()):
            known = self.watch.nodes.get(name)
            if known is None or known.cluster == self._settings.cluster:
                await self._sync_node(name, known, shown.get(name))

    async def _sync_node(
        self, name: str, known: NodeState | None, shown: node_core.Shown | None
    ) -> None:
        pool, cluster = self._settings.pool, self._settings.cluster

        lapse = timedelta(seconds=self._settings.lapse_s)

        def decide(state: NodeState | None, now: datetime) -> NodeFact | None:
            return node_core.next_fact(state, shown, name, pool, cluster, now, lapse)

        if decide(known, self._journal.clock.now()) is not None:
            await self._journal.advance_node(pool, name, decide)


def _shown(facts: NodeFacts, reclaim_at: datetime | None, leftover: int) -> node_core.Shown:
    shape = NodeShape(
        gpus=facts.gpus,
        gpu_model=facts.gpu_model,
        cpus=facts.cpus,
        memory_mib=facts.memory_mib,
        spot=facts.spot,
        zone=facts.zone,
        labels=dict(facts.labels),
        extended=dict(facts.extended),
        taints=facts.taints,
    )
    return node_core.Shown(shape, reclaim_at, with_leftovers(facts.foreign, leftover))


def _started_after(worker: Observed, fence: datetime | None) -> bool:
    """Whether a worker began on a node after its fencing, which proves nothing about it then."""
    return fence is not None and (worker.started_at is None or worker.started_at > fence)


def _by_job(workers: Sequence[Observed]) -> dict[str, list[Observed]]:
    found: dict[str, list[Observed]] = {}
    for worker in workers:
        found.setdefault(worker.key.job, []).append(worker)
    return found


def _worker(observed: Observed, node_down: bool) -> Worker:
    return Worker(
        attempt=observed.key.attempt,
        name=observed.key.worker,
        node=observed.node,
        seen=_SEEN[observed.status],
        exit_code=observed.exit_code,
        ended_at=observed.ended_at,
        log=observed.log_path,
        node_down=node_down,
    )


def _keys(job: str, workers: Sequence[Worker]) -> list[WorkerKey]:
    return [WorkerKey(job, worker.attempt, worker.name) for worker in workers]
