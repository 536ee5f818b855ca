"""What becomes of a job in each combination: asked of the decisions themselves, one by one.

A pool of one machine, a job, and whoever else wants the machine. Placement rounds, requeue and
fault tolerance are the real cores; only what machines and processes report is written here.
Pure: instants are counted from a fixed one. Called for the page and by tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.cli.simulation.auto_queue_cases import HOURS, Auto, Case, Kind
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.demand import ResourceClass
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.spec import JobSpec
from muster.domain.state import DeadlineKind, JobState
from muster.domain.tenants import QuotaSet, Share, TenantView
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core import decide
from muster.scheduler.core.clocks import counts_for, owes_proof
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import LastRound, Listed, Snapshot

START = datetime(2030, 1, 1, tzinfo=UTC)
POOL, NODE, MODEL, CARDS = "default", "n1", "H100", 8
JOB = "job"
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Told:
    """One event of the job that the table is about, and the state after it."""

    fact: f.Fact
    at: datetime
    after: JobState


class Cores:
    """See the module. Nothing happens by itself: a caller says who looks next."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.now, self.seq = START, 0
        self.history: list[Told] = []
        self._jobs: dict[str, Listed] = {}
        self._last: LastRound | None = None
        self._tenants: dict[str, TenantView] = {}
        shape = n.NodeShape(
            gpus=CARDS, gpu_model=MODEL, cpus=64, memory_mib=512_000, spot=kind.on_spot
        )
        joined = n.NodeJoined(pool=POOL, node=NODE, cluster="c1", shape=shape)
        self.node = n.evolve_node(None, joined, self.now)

    @property
    def job(self) -> JobState:
        """Return the job that the table is about."""
        return self._jobs[JOB].state

    def state(self, name: str) -> JobState:
        """Return any job."""
        return self._jobs[name].state

    # --- what others than Muster do ------------------------------------------------------------

    def submit(self, name: str, spec: JobSpec, tenant: str = "acme") -> None:
        """Submit a job; admission lets it in."""
        first = f.Submitted(
            tenant=tenant,
            job=name,
            user="ada",
            pool=POOL,
            request=f"submit-{name}",
            digest="",
            spec=spec,
            demand=spec.demand(),
        )
        self._put(name, None, first, Owner.ADMISSION)
        self.tell(f.Admitted(), name, Owner.ADMISSION)

    def tell(self, fact: f.Fact, name: str = JOB, owner: Owner = Owner.EXECUTOR) -> None:
        """Let a fact about a job happen; by default the executor reports it."""
        self.wait(1)
        self._put(name, self._jobs[name], fact, owner)

    def about_node(self, fact: n.NodeFact) -> None:
        """Let something happen to the machine."""
        self.wait(1)
        self.seq += 1
        self.node = n.evolve_node(self.node, fact, self.now)

    def share(self, tenant: str, guaranteed: int) -> None:
        """Record a tenant's share of the pool."""
        share = Share(pool=POOL, gpu_model=MODEL, guaranteed=guaranteed)
        told = QuotaSet(shares=(share,), request=f"share-{tenant}", by="operator")
        self._tenants[tenant] = TenantView(quota=told)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def wait_until(self, instant: datetime) -> None:
        """Let time pass until an instant."""
        self.now = max(self.now, instant)

    # --- who decides ---------------------------------------------------------------------------

    def round(self) -> None:
        """Run a placement round, and record what the scheduler would."""
        upto = self.seq
        made = plan(self._snapshot(), Policy())
        proof = LastRound(at=counts_for(made, ()), upto=upto)
        if made.moves or owes_proof(made, ()):
            self._last = proof
        for move in made.moves:
            for decision in move.decisions:
                self.tell(decision.fact, decision.job[1], Owner.SCHEDULER)

    def _snapshot(self) -> Snapshot:
        there = [one for one in self._jobs.values() if _concerns_a_round(one.state)]
        return Snapshot(
            pool=POOL,
            now=self.now,
            upto=self.seq,
            nodes=(self.node,),
            jobs=there,
            last_round=self._last,
            tenants=dict(self._tenants),
        )

    def requeue(self) -> None:
        """Let requeue look at the job: after its events, and as if an alarm rang."""
        last = decide.Round(at=self._last.at, upto=self._last.upto) if self._last else None
        listed = self._jobs[JOB]
        found = decide.on_release(listed.state)
        found = found or decide.on_deadline(listed.state, listed.seq, self.now, last)
        if found is not None:
            self.tell(found, JOB, Owner.REQUEUE)

    def judge(self) -> None:
        """Let fault tolerance look at the job."""
        found = by_event(self.job, self.history[-1].fact, self.now)
        if found is not None:
            self.tell(found, JOB, Owner.FAULT_TOLERANCE)

    # --- the executor's part -------------------------------------------------------------------

    def launch(self, name: str = JOB) -> None:
        """Begin to start what is placed."""
        self.tell(f.Launching(attempt=self.state(name).attempt), name)

    def run(self, name: str = JOB) -> None:
        """Start what is placed."""
        self.launch(name)
        self.tell(f.Started(attempt=self.state(name).attempt), name)

    def release(self, name: str = JOB) -> None:
        """Prove that nothing of a job runs any more."""
        self.tell(f.Released(attempt=self.state(name).attempt), name)

    def lose_workers(self) -> None:
        """Report what the executor reports of a node that is no spot capacity."""
        failed = f.WorkerFailure(worker="worker-0", node=NODE, cause="node_lost", ended_at=self.now)
        self.tell(f.WorkersFailed(attempt=self.job.attempt, failures=(failed,)))

    # --- the book ------------------------------------------------------------------------------

    def _put(self, name: str, before: Listed | None, fact: f.Fact, owner: Owner) -> None:
        self.seq += 1
        state = evolve(before.state if before else None, fact, self.now, owner)
        begins = isinstance(fact, f.Scheduled) or before is None
        stay = state.attempt if begins else before.stay if before else 0
        self._jobs[name] = Listed(state, self.seq, stay)
        if name == JOB:
            self.history.append(Told(fact, self.now, state))


def _concerns_a_round(state: JobState) -> bool:
    return state.phase is Phase.QUEUED or bool(state.held)


def specification(kind: Kind, auto: Auto | None) -> JobSpec:
    """Return the specification of the job that the table is about: two workers, one machine."""
    queue: dict[str, Any] = {}
    if auto is not None:
        limits = {"max_queue_hours": HOURS, "max_requeues": auto.max_requeues}
        queue = {"auto_queue": {"enabled": True, **limits}}
    return spec(kind.resource_class, guarantee=kind.guarantee, **queue)


def spec(
    kind: ResourceClass, priority: int = 50, *, guarantee: bool = False, **more: Any
) -> JobSpec:
    """Return a specification that takes the whole machine."""
    resource: dict[str, Any] = {
        "type": kind,
        "replicas": 2,
        "gpus_per_replica": CARDS // 2,
        "guarantee": guarantee,
    }
    if kind is not ResourceClass.IDLE:
        resource["priority"] = priority
    values = {"name": "train", "image": "train:1", "command": ["python", "train.py"]}
    return JobSpec.model_validate(values | {"resource": resource} | more, strict=False)


def deadline(state: JobState) -> datetime | None:
    """Return when the wait of a queued job is over, None if it has no end."""
    return state.due(DeadlineKind.QUEUE) or state.due(DeadlineKind.ROUND)


def begun(case: Case) -> Cores:
    """Return the pool with the job queued, its requeues used as the case says, and room for it."""
    cores = Cores(case.kind)
    cores.submit(JOB, specification(case.kind, case.auto))
    for number in range(case.auto.used if case.auto else 0):
        cores.round()
        cores.run()
        evicted_by_a_higher_job(cores, f"before-{number}")
    return cores


def higher(kind: Kind) -> JobSpec:
    """Return a job that comes before any other that is not guaranteed, on the same machine."""
    return spec(ResourceClass.SPOT if kind.on_spot else ResourceClass.ON_DEMAND, 90)


def evicted_by_a_higher_job(cores: Cores, name: str) -> None:
    """Let a higher job take the machine and give it back; the job is queued again."""
    cores.submit(name, higher(cores.kind), "other")
    cores.round()
    cores.release()
    cores.requeue()
    cores.run(name)
    cores.tell(f.Succeeded(attempt=cores.state(name).attempt), name)
    cores.release(name)
