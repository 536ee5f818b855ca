"""The stage of one scenario: the world, brought to where `given` says, and names for its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from muster.cli.simulation.client import Client
from muster.cli.simulation.installation import install
from muster.cli.simulation.scenario import Given, JobGiven, NodeGiven, ProcessGiven
from muster.cli.simulation.services import SCHEDULER, service_plans
from muster.contracts import subjects
from muster.contracts.requests import job_id
from muster.domain.nodes import ForeignUse, NodeShape, Taint, TaintEffect
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.log.memory import StoredEntry
from muster.runtime.service import Runtime, Service
from muster.scheduler import service as scheduler
from muster.testing.cluster import Script, SimCluster, WorkerId, shape
from muster.testing.gates import ProcessHooks
from muster.testing.process import ServicePlan
from muster.testing.scripts import Vitals
from muster.testing.steady import advance
from muster.testing.virtual_time import VirtualTime
from muster.testing.world import Option, World

SCHEDULERS = 2
"""One leads, one stands by."""
PATIENCE_S = 120.0
"""So long may the world take to get where `given` says."""
IDLE_S = 60.0


class _ChangesWake:
    """Surroundings that do nothing but tell the world's loops that the cluster has changed."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster, self._seen = cluster, 0

    def options(self, world: World) -> Iterable[Option]:
        """See Surroundings."""
        return ()

    def next_time(self, world: World) -> float | None:
        """See Surroundings."""
        return None

    def pass_time(self, world: World) -> None:
        """See Surroundings."""
        if self._seen != self._cluster.version:
            self._seen = self._cluster.version
            world.activity += 1


class NotReached(AssertionError):
    """The world does not get where `given` says."""


class Stage:
    """See the module. zero: the true second from which the story counts."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.jobs = dict(given.each_job())
        self.ids = {name: job_id(job.tenant, request_of(name)) for name, job in self.jobs.items()}
        self._names = {identity: name for name, identity in self.ids.items()}
        there = {name: shape_of(n) for name, n in given.nodes.items() if not n.later}
        installation = install(1, there, self._script, replicas=given.replicas, plans=self._plans)
        self.world: World = installation.world
        self.cluster, self.known = installation.cluster, installation.fold.known
        for name in there:
            self.cluster.nodes[name].foreign = ForeignUse(gpus=given.nodes[name].foreign)
        self.world.surroundings.append(_ChangesWake(self.cluster))
        self.world.mood.hurried = True
        self.world.idle_s = IDLE_S
        self.zero = 0.0
        self._cordons = 0

    def _plans(
        self, cluster: SimCluster, time: VirtualTime, replicas: int
    ) -> Sequence[ServicePlan]:
        settings = SCHEDULER.model_copy(
            update={"min_run_s": self.given.min_run, "cool_down_s": self.given.cool_down}
        )

        def build(runtime: Runtime, hooks: ProcessHooks) -> Service:
            return scheduler.build(runtime, settings)

        return [
            replace(plan, build=build, replicas=SCHEDULERS) if plan.name == "scheduler" else plan
            for plan in service_plans(cluster, time, replicas)
        ]

    # --- who is who --------------------------------------------------------------------------

    def job(self, name: str) -> JobState | None:
        """Return a job as the log has it, None before it is there."""
        return self.known.jobs.get(self.ids[name])

    def name_of(self, identity: str) -> str:
        """Return the scenario's name of a job's id."""
        return self._names.get(identity, identity)

    def client(self, name: str) -> Client:
        """Return who may ask about a job."""
        job = self.jobs[name]
        return Client(self.world, job.tenant, job.user)

    def operator(self) -> Client:
        """Return who may ask about nodes."""
        return Client(self.world, "acme", "operator")

    def entries(self, name: str) -> list[StoredEntry]:
        """Return what stands on a job's subjects."""
        key = subjects.job_key(self.jobs[name].tenant, self.ids[name])
        found = self.world.store.sequences(key.condition)
        return [self.world.store.entries[seq - 1] for seq in found]

    def _script(self, who: WorkerId) -> Script:
        job = self.jobs[self._names[who.job]]
        chosen: ProcessGiven = job.process
        for each in job.processes:
            if each.attempt in {None, who.attempt} and each.worker in {None, who.worker}:
                chosen = each
        return Script(
            start_s=chosen.start,
            run_s=chosen.run,
            exit_code=chosen.exit,
            stop_s=chosen.stop,
            stop_code=chosen.stop_exit,
            kill_s=chosen.kill,
            refused=chosen.refused,
            step_s=chosen.step,
            stuck_s=chosen.stuck,
            pulse_s=chosen.pulse,
            prints=chosen.prints,
            last_words=chosen.last_words,
            reason=chosen.reason,
            message=chosen.message,
            vitals=Vitals(**chosen.signs.model_dump()),
            stuck=Vitals(**chosen.still.model_dump()),
        )

    # --- getting there -------------------------------------------------------------------------

    def set_up(self) -> None:
        """Bring the world to where `given` says."""
        there = {name for name, node in self.given.nodes.items() if not node.later}
        self._until("every node has joined", lambda: there <= set(self.known.nodes))
        self._tenants()
        for name, job in self.jobs.items():
            if job.state != "later":
                self._begin(name, job)
        self.zero = self.world.time.elapsed

    def _tenants(self) -> None:
        asked = []
        for tenant, share in self.given.shares.items():
            asked.append(f"given-share-{tenant}")
            self.share(asked[-1], tenant, share.model_dump())
        for tenant, lists in self.given.blocked.items():
            for user, nodes in ((None, lists.nodes), *lists.users.items()):
                if nodes:
                    asked.append(f"given-block-{tenant}-{user or ''}")
                    self.block(asked[-1], tenant, user, {"add": list(nodes)})
        answers = self.operator().answers
        done: Callable[[], bool] = lambda: all(  # noqa: E731
            any(each.accepted for each in answers(request)) for request in asked
        )
        self._until("shares and block lists are recorded", done)

    def share(self, request: str, tenant: str, share: Mapping[str, Any]) -> None:
        """Ask for a share of a tenant."""
        self.operator().ask("set_quota", request, tenant=tenant, shares=[dict(share)])

    def block(
        self, request: str, tenant: str, user: str | None, nodes: Mapping[str, list[str]]
    ) -> None:
        """Ask for a block list of a tenant, or of one of its users."""
        who = {"only_user": user} if user else {}
        self.operator().ask("set_blocklist", request, tenant=tenant, **who, **nodes)

    def _begin(self, name: str, job: JobGiven) -> None:
        others = set(self.known.nodes) - set(job.on) if job.on else set()
        self._cordon(others, "cordon_node")
        self.submit(name)
        self._until(f"{name} is {job.state}", lambda: self._is(name, job.state))
        self._cordon(others, "uncordon_node")
        state = self.job(name)
        if job.on and state is not None and set(state.held) != set(job.on):
            raise NotReached(f"{name} is on {sorted(state.held)}, not on {sorted(job.on)}")

    def _cordon(self, nodes: set[str], verb: str) -> None:
        for node in sorted(nodes):
            self._cordons += 1
            self.operator().ask(verb, f"given-{self._cordons}", node=node)
        wanted = verb == "cordon_node"
        done: Callable[[], bool] = lambda: all(  # noqa: E731
            self.known.nodes[n].cordoned == wanted for n in nodes
        )
        self._until(verb, done)

    def submit(self, name: str, change: Mapping[str, Any] | None = None) -> None:
        """Ask for a job of the scenario."""
        spec = _merged(specification(name, self.jobs[name]), change or {})
        self.client(name).submit(request_of(name), spec)

    def second(self, instant: datetime) -> float:
        """Return at which second of the story it is an instant of Muster's time."""
        now = self.world.processes[0].clock.now()
        return self.world.time.elapsed - self.zero + (instant - now).total_seconds()

    def _is(self, name: str, wanted: str) -> bool:
        state = self.job(name)
        if state is None or state.phase is not Phase(wanted):
            return False
        return wanted != "starting" or state.launched

    def _until(self, what: str, done: Callable[[], bool]) -> None:
        advance(self.world, PATIENCE_S, until=lambda world: done())
        if not done():
            found = {name: s.phase.value for name in self.jobs if (s := self.job(name))}
            raise NotReached(f"given: after {PATIENCE_S:g} s not so: {what}; jobs: {found}")


def request_of(name: str) -> str:
    """Return the request id under which a job of a scenario is submitted."""
    return f"submit-{name}"


def shape_of(node: NodeGiven) -> NodeShape:
    """Return what a machine of a scenario offers."""
    return shape(
        node.gpus,
        spot=node.spot,
        zone=node.zone,
        gpu_model=node.gpu_model,
        labels=node.labels,
        taints=[_taint(text) for text in node.taints],
    )


def _taint(text: str) -> Taint:
    mark, _, effect = text.partition(":")
    key, _, value = mark.partition("=")
    return Taint(key=key, value=value, effect=TaintEffect(effect or "NoSchedule"))


def specification(name: str, job: JobGiven) -> dict[str, Any]:
    """Return a job's specification as a person writes it."""
    resource: dict[str, Any] = {
        "type": job.kind,
        "replicas": job.workers,
        "gpus_per_replica": 0 if job.share else job.gpus,
        "gpu_milli_per_replica": job.share,
        "guarantee": job.guarantee,
    }
    if job.priority is not None:
        resource["priority"] = job.priority
    spec: dict[str, Any] = {
        "name": name,
        "type": job.type,
        "image": "registry.local/train:1",
        "command": ["python", "train.py"],
        "resource": resource,
        "grace_s": job.grace,
    }
    if job.auto_queue is not None:
        hours, requeues = job.auto_queue.hours, job.auto_queue.requeues
        limits = {"max_queue_hours": hours, "max_requeues": requeues}
        spec["auto_queue"] = {"enabled": True, **limits}
    if job.restarts:
        spec["fault_tolerance"] = {"enabled": True, "max_retries": job.restarts}
    if job.only_on:
        spec["node_policy"] = {"type": "NodeIn", "nodes": list(job.only_on)}
    elif job.not_on:
        spec["node_policy"] = {"type": "NodeNotIn", "nodes": list(job.not_on)}
    return _merged(spec, job.more)


def _merged(spec: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(spec)
    for key, value in change.items():
        old = merged.get(key)
        deep = isinstance(value, Mapping) and isinstance(old, Mapping)
        merged[key] = _merged(old, value) if deep and isinstance(old, Mapping) else value
    return merged
