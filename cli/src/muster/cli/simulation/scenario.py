"""What a scenario says: an installation (`given`), what happens to it (`when`), what follows.

Strict: an unknown field or another type is an error. Seconds count from the moment at which the
world has reached what `given` says; the world gets there by itself, through its own services.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from muster.cli.simulation.scenario_steps import Step
from muster.cli.simulation.scenario_then import Check, Texts
from muster.domain.model import Strict


class NodeGiven(Strict):
    """One machine. later: it joins only when a step says so.

    taints: `key`, `key=value`, either with `:Effect` behind it. foreign: GPUs that others take.
    """

    gpus: int
    spot: bool = False
    zone: str = "default"
    gpu_model: str = "H100"
    labels: Mapping[str, str] = {}
    taints: Texts = ()
    foreign: int = 0
    later: bool = False


def _plain_node(value: object) -> object:
    return {"gpus": value} if isinstance(value, int) else value


class VitalsGiven(Strict):
    """Signs of life; see `muster.testing.scripts.Vitals`."""

    cpu: float = 1.0
    state: str = "R"
    moves: int = 1_000_000
    gpu: float | None = None
    watts: float | None = None
    stack: str = "working"


class ProcessGiven(Strict):
    """How the workers of a job behave; see `muster.testing.scripts.Script`. null = never.

    step: seconds of a step; stuck: it stands still from then on, with the signs of `still`; pulse:
    seconds between lines that say nothing. prints: [second, line]. last_words: what it prints when
    it ends by itself. reason, message: how the cluster words its end. signs: until it is stuck.
    """

    start: float | None = 1.0
    run: float | None = None
    exit: int = 0
    stop: float | None = 1.0
    stop_exit: int = 143
    kill: float | None = 0.1
    refused: str | None = None
    step: float | None = None
    stuck: float | None = None
    pulse: float | None = None
    prints: tuple[tuple[float, str], ...] = ()
    last_words: str = ""
    reason: str = ""
    message: str = ""
    signs: VitalsGiven = VitalsGiven()
    still: VitalsGiven = VitalsGiven(cpu=0.0, state="S", moves=0, gpu=0.0, stack="stuck")


class ProcessOf(ProcessGiven):
    """The same for some workers only: of one attempt, or of one name."""

    attempt: int | None = None
    worker: str | None = None


class QueueGiven(Strict):
    """Auto-queue: hours for each queueing, and how often the job may queue again."""

    hours: int
    requeues: int


StartState = Literal["running", "starting", "queued", "later", "debug_holding"]


class JobGiven(Strict):
    """One job, or `count` jobs alike, named with a number behind.

    state: what is waited for before second 0; later = submitted by a step. on: where it must run
    at second 0 (the other nodes are cordoned while it is placed). share: thousandths of one card
    for each worker, instead of whole GPUs. more: further fields of its specification, as people
    write them.
    """

    kind: Literal["reserved", "on_demand", "spot", "idle"] = Field("on_demand", alias="class")
    type: Literal["PyTorchJob", "RayJob"] = "PyTorchJob"
    workers: int = 1
    gpus: int = 8
    share: int = 0
    priority: int | Literal["low", "normal", "high"] | None = None
    guarantee: bool = False
    auto_queue: QueueGiven | None = None
    restarts: int = 0
    grace: int = 30
    only_on: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()
    user: str = "ada"
    tenant: str = "acme"
    state: StartState = "running"
    on: tuple[str, ...] = ()
    count: int = 1
    process: ProcessGiven = ProcessGiven()
    processes: tuple[ProcessOf, ...] = ()
    more: Mapping[str, Any] = {}


Node = Annotated[NodeGiven, BeforeValidator(_plain_node)]


class ShareGiven(Strict):
    """A tenant's share of a GPU model. ceiling null: no limit."""

    gpu_model: str = "H100"
    guaranteed: int = 0
    ceiling: int | None = None


class BlockGiven(Strict):
    """Nodes that a tenant stays off, and those that some of its users do."""

    nodes: tuple[str, ...] = ()
    users: Mapping[str, tuple[str, ...]] = {}


class Given(Strict):
    """Where it begins. min_run, cool_down: the scheduler's settings, seconds.

    shares, blocked: what is recorded of tenants, before the first job is there. replicas: of
    admission, requeue and fault-tolerance.
    """

    nodes: Mapping[str, Node]
    jobs: Mapping[str, JobGiven] = {}
    shares: Mapping[str, ShareGiven] = {}
    blocked: Mapping[str, BlockGiven] = {}
    min_run: int = 0
    cool_down: int = 0
    replicas: int = 1

    def names_of(self, job: str) -> tuple[str, ...]:
        """Return the names of the jobs that one entry stands for."""
        count = self.jobs[job].count
        return (job,) if count == 1 else tuple(f"{job}{n}" for n in range(1, count + 1))

    def each_job(self) -> Iterator[tuple[str, JobGiven]]:
        """Yield every job by its own name."""
        for entry, job in self.jobs.items():
            for name in self.names_of(entry):
                yield name, job


class Scenario(Strict):
    """One story. case: its number in the case bank. decision: of the life cycle, if it shows one.

    sibling_of: the case whose sibling it is: the same kind of fault in another place.
    timing_dependent: it is also told with everything doubled, swapped, restarted and led anew.
    keep_order: the order of its steps matters, so they are not swapped.
    """

    title: str
    case: str | None = Field(None, pattern=r"^[A-Z]{3}-\d{2}$")
    also: tuple[str, ...] = ()
    sibling_of: str | None = Field(None, pattern=r"^[A-Z]{3}-\d{2}$")
    decision: str | None = Field(None, pattern=r"^D\d{1,2}$")
    timing_dependent: bool = False
    keep_order: bool = False
    given: Given
    when: tuple[Step, ...] = ()
    then: Annotated[tuple[Check, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_exist(self) -> Scenario:
        jobs = {name for name, _ in self.given.each_job()}
        for step in self.when:
            for job in step.jobs_named():
                _known(job, jobs, f"when, second {step.at:g}: job")
            for node in step.nodes_named():
                _known(node, set(self.given.nodes), f"when, second {step.at:g}: node")
        for check in self.then:
            for job in check.jobs:
                _known(job, jobs, f"then, second {check.at:g}: job")
            for node in check.nodes:
                _known(node, set(self.given.nodes), f"then, second {check.at:g}: node")
        return self

    @property
    def cases(self) -> tuple[str, ...]:
        """Return every number of the case bank that this scenario answers."""
        return (*([self.case] if self.case else ()), *self.also)


def _known(name: str, names: set[str], where: str) -> None:
    if name not in names:
        raise ValueError(
            f"{where} {name!r} is not in `given`; there are: {', '.join(sorted(names))}"
        )


class Book(Strict):
    """One file: an area and its scenarios."""

    area: str
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]
