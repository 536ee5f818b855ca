"""Jobs that live without their services: every fact but the scheduler's own, written directly.

Surroundings of a world in which only schedulers are real, so that most of its steps are theirs. The
facts are those that admission, executor and requeue would write, on the same conditions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

from muster.cli.simulation.jobs import random_spec
from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.edges import Owner
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.log import Basis, Recorded
from muster.log.memory import MemoryLog
from muster.requeue.core.decide import on_release
from muster.runtime.journal import Journal
from muster.testing.cluster import SimCluster, WorkerId
from muster.testing.invariants.base import Known
from muster.testing.virtual_time import ProcessClock
from muster.testing.world import Option, World

T = TypeVar("T")

AT_A_TIME = 10
"""Jobs that are not over: so many that there is always a queue, and evictions go on."""

SUBMIT_WEIGHT, GO_ON_WEIGHT, ASK_WEIGHT, NODE_WEIGHT = 1.0, 3.0, 0.2, 0.15
ENDS_BY_ITSELF = 0.15
POOL, TENANT = "default", "acme"


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("it waits for something")


class Lives:
    """See the module. Not called before `open`."""

    def __init__(self, cluster: SimCluster, known: Known) -> None:
        self._cluster, self._known = cluster, known
        self._pens: dict[Owner, Journal] = {}
        self._asked = 0

    def open(self, world: World) -> None:
        """Let every machine of the cluster join the pool."""
        log, clock = MemoryLog(world.store), ProcessClock(world.time, world.store)
        self._pens = {owner: Journal(owner, log, clock, world.new_id) for owner in Owner}
        for name, node in self._cluster.nodes.items():
            joined = n.NodeJoined(pool=POOL, node=name, cluster="local", shape=node.shape)
            self._about_node(name, joined, Owner.EXECUTOR)
        world.look()

    def next_time(self, world: World) -> float | None:
        """See Surroundings; chance says when."""
        return None

    def pass_time(self, world: World) -> None:
        """See Surroundings."""

    def options(self, world: World) -> Iterable[Option]:
        """Yield one thing of each kind that may happen now."""
        live = [job for job in self._known.jobs.values() if job.held or _is_open(job)]
        if sum(_is_open(job) for job in live) < AT_A_TIME:
            yield Option(SUBMIT_WEIGHT, "submit", partial(self._submit, world))
        if live:
            job = world.dice.one_of(live)
            yield Option(GO_ON_WEIGHT, f"{job.job} goes on", partial(self._go_on, world, job))
            yield Option(ASK_WEIGHT, f"ask about {job.job}", partial(self._ask, world, job))
        node = world.dice.one_of(list(self._known.nodes))
        yield Option(NODE_WEIGHT, f"ask about {node}", partial(self._turn_node, world, node))

    # --- jobs ------------------------------------------------------------------------------------

    def _submit(self, world: World) -> None:
        self._asked += 1
        shapes = [node.shape for node in self._cluster.nodes.values()]
        wanted = random_spec(world.dice, self._asked, shapes)
        spec = JobSpec.model_validate_json(json.dumps(wanted))
        job, pen = f"j{self._asked}", self._pens[Owner.ADMISSION]
        submitted = f.Submitted(
            tenant=TENANT,
            job=job,
            user="ann",
            pool=POOL,
            request=f"r{self._asked}",
            digest="0" * 64,
            spec=spec,
            demand=spec.demand(),
        )
        first = pen.about_job(None, submitted)
        _at_once(pen.record_all([first, pen.about_same_job(first, f.Admitted())]))
        world.activity += 1

    def _write(self, world: World, job: JobState, owner: Owner, fact: f.Fact | None) -> None:
        pen = self._pens[owner]
        last = _at_once(pen.job(TENANT, job.job))
        if fact is not None and isinstance(last, Recorded):
            _at_once(pen.record(pen.about_job(last, fact)))
            world.activity += 1

    def _go_on(self, world: World, job: JobState) -> None:
        """Let the job's services do what they would do next."""
        if job.phase is Phase.INTERRUPTED:
            self._write(world, job, Owner.REQUEUE, on_release(job))
        elif (fact := self._next(world, job)) is not None:
            self._write(world, job, Owner.EXECUTOR, fact)
            self._effect(world, job, fact)

    def _next(self, world: World, job: JobState) -> f.Fact | None:
        match job.phase:
            case Phase.STARTING if not job.launched:
                return None if self._waits(job) else f.Launching(attempt=job.attempt)
            case Phase.STARTING:
                return f.Started(attempt=job.attempt)
            case Phase.RUNNING:
                ends = world.dice.chance(ENDS_BY_ITSELF)
                return f.Succeeded(attempt=job.attempt) if ends else None
            case _:
                return _leave(job)

    def _waits(self, job: JobState) -> bool:
        victims = ((wait, self._known.jobs[wait.job]) for wait in job.waits_for)
        return any(victim.attempt == wait.attempt and victim.held for wait, victim in victims)

    def _effect(self, world: World, job: JobState, fact: f.Fact) -> None:
        now = world.time.elapsed
        for worker, node in job.placed_on.items():
            who = WorkerId(job.job, job.attempt, worker)
            if isinstance(fact, f.Launching):
                self._cluster.start(who, node, job.demand.role_of(worker).gpus, now)
            elif isinstance(fact, f.Released | f.Succeeded) and who in self._cluster.workers:
                self._cluster.end(who, now, 0)

    def _ask(self, world: World, job: JobState) -> None:
        """Somebody wants it to stop, or to have another priority."""
        if not _is_open(job):
            return
        self._asked += 1
        request, before = f"r{self._asked}", job.demand.priority
        if before is None or world.dice.chance(0.3):
            self._write(world, job, Owner.ADMISSION, f.StopRequested(by="ann", request=request))
            return
        priority = world.dice.whole(1, 99)
        fact = f.Prioritised(by="ann", request=request, before=before, priority=priority)
        self._write(world, job, Owner.ADMISSION, fact)

    # --- nodes -----------------------------------------------------------------------------------

    def _turn_node(self, world: World, name: str) -> None:
        kind: Callable[..., n.NodeFact] = n.NodeCordoned
        if not self._known.nodes[name].schedulable:
            kind = n.NodeUncordoned
        self._asked += 1
        self._about_node(name, kind(by="ann", request=f"r{self._asked}"), Owner.ADMISSION)
        world.activity += 1

    def _about_node(self, name: str, fact: n.NodeFact, owner: Owner) -> None:
        pen, key = self._pens[owner], subjects.node_key(POOL, name)
        last = _at_once(pen.log.last(key))
        append = pen.about_node(last, fact)
        assert append.basis == Basis(key, last.head if last else 0)
        _at_once(pen.record(append))


def _is_open(job: JobState) -> bool:
    return job.phase not in TERMINAL | PARKED | {Phase.STOPPING}


def _leave(job: JobState) -> f.Fact | None:
    """Return the next fact on a job's way out; None while it has none to go."""
    if not job.held:
        return f.Stopped() if job.phase is Phase.STOPPING else None
    if job.launched and not job.signalled and job.phase in {Phase.EVICTING, Phase.STOPPING}:
        return f.Signalled(attempt=job.attempt)
    return f.Released(attempt=job.attempt, proofs=dict.fromkeys(job.placed_on, "exit 0"))
