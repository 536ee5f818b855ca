"""The specification of a job, as people write it: every field, its shape, and nothing else.

Types are literal (true is not 1, "2" is not 2) and unknown fields are refused. Rules that need more
than one field or the caller's rights are admission's; what a decision needs later is `demand()`.
Durations are seconds unless the name says hours; memory is MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from muster.domain.auto_queue import AutoQueueSpec, queue_limits
from muster.domain.demand import (
    Demand,
    FaultStrategy,
    HangLimits,
    JobType,
    Locality,
    LocalityMode,
    NodePolicy,
    NodePolicyType,
    ResourceClass,
    Role,
    StabilityLevel,
    Toleration,
)
from muster.domain.model import Strict, Token
from muster.domain.templates import LENGTH, TEMPLATES

PRIORITIES = {"low": 10, "normal": 50, "high": 90}
DEFAULT_HOLD_S = 600
MAX_RUNTIME_S = 315_360_000
"""Ten years: further ahead, an instant may have no date."""


_JOB_TYPES = {member.value.lower(): member for member in JobType}


def _any_case(value: object) -> object:
    return _JOB_TYPES.get(value.lower(), value) if isinstance(value, str) else value


Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40)]
GpuCount = Annotated[int, Field(ge=0, le=64)]
EnvName = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
MountPath = Annotated[str, Field(min_length=2, max_length=1024, pattern=r"^/")]


class ResourceSpec(Strict):
    """What the gang needs. Amounts are per worker; gpu_model None = any, `A|B` = one of these.

    gpu_milli_per_replica: thousandths of one card that each worker shares with others.

    A worker without GPUs takes at least one CPU core, whatever is asked for.
    """

    type: ResourceClass = ResourceClass.RESERVED
    pool: Token = "default"
    zone: str | None = None
    replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    gpus_per_replica: GpuCount = 0
    gpu_milli_per_replica: Annotated[int, Field(ge=0, le=999)] = 0
    gpu_model: str | None = None
    cpus_per_replica: Annotated[float, Field(ge=0, le=4096)] = 0
    memory_mib_per_replica: Annotated[int, Field(ge=0)] = 0
    extended: Mapping[str, Annotated[int, Field(ge=0)]] = {}
    priority: Literal["low", "normal", "high"] | Annotated[int, Field(ge=1, le=99)] | None = None
    guarantee: bool = False
    stability_level: StabilityLevel | None = None

    @property
    def has_gpu(self) -> bool:
        """Whether a worker has cards, or a share of one."""
        return self.gpus_per_replica > 0 or self.gpu_milli_per_replica > 0


class NodePolicySpec(Strict):
    """Only these nodes, or any but these."""

    type: NodePolicyType
    nodes: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


class LocalitySpec(Strict):
    """How near to each other the workers are: on one "node", or under one value of a label."""

    mode: LocalityMode = LocalityMode.PREFERRED
    level: Annotated[str, Field(min_length=1, max_length=317)]


class TolerationSpec(Strict):
    """A taint that the job puts up with; no key = every taint, no value = any value."""

    key: Annotated[str, Field(min_length=1, max_length=317)] | None = None
    value: Annotated[str, Field(max_length=63)] | None = None


class HangSpec(Strict):
    """What to do when the job makes no progress for window_s."""

    action: Literal["off", "notify", "restart"] = "off"
    window_s: Annotated[int, Field(ge=300, le=86400)] = 1800


class FaultToleranceSpec(Strict):
    """Automatic restart after a failure of the job's processes; not the same as auto-queue."""

    enabled: bool = False
    max_retries: Annotated[int, Field(ge=0, le=99)] = 3
    strategy: FaultStrategy = FaultStrategy.ON_FAILURE
    exit_codes: (
        Annotated[str, Field(pattern=r"^\d{1,3}(-\d{1,3})?(,\d{1,3}(-\d{1,3})?)*$")] | None
    ) = None
    log_keywords: Annotated[
        tuple[Annotated[str, Field(min_length=3, max_length=200)], ...], Field(max_length=20)
    ] = ()
    hang: HangSpec = HangSpec()


def _hold(seconds: int) -> int:
    if seconds and not 60 <= seconds <= 86400:
        raise ValueError("0 or 60-86400")
    return seconds


class DebugSpec(Strict):
    """Keep a RayJob's cluster after its end, to look inside. 0 = no hold."""

    enabled: bool = False
    hold_seconds: Annotated[int, AfterValidator(_hold)] = DEFAULT_HOLD_S


class VolumeSpec(Strict):
    """A volume, dataset or public data mounted into every worker."""

    volume: str
    mount_path: MountPath
    read_only: bool = False
    public: bool = False
    output: bool = False


class SecretRef(Strict):
    """Where a secret value is kept; the value itself never enters a specification."""

    secret: str
    key: str


class EnvVar(Strict):
    """A temporary environment variable of this job: a value or a reference to a secret."""

    name: EnvName
    value: Annotated[str, Field(max_length=4096)] | None = None
    secret_ref: SecretRef | None = None


Line = Annotated[str, Field(min_length=1, max_length=LENGTH)]
Lines = Annotated[tuple[Line, ...], Field(max_length=TEMPLATES)]


class ProgressSpec(Strict):
    """How the job's own output tells of its progress, beside the forms that are known anyway.

    Each is text of a line, with `*` for anything and `#` for the number of the step. step:
    when the job names its own, no other line tells a step. saving, evaluating, loading: a phase
    without steps begins; over: it has ended (a new step ends it, too).
    """

    checkpoint_loaded: Lines = ()
    checkpoint_saved: Lines = ()
    step: Lines = ()
    saving: Lines = ()
    evaluating: Lines = ()
    loading: Lines = ()
    over: Lines = ()


class MetricsSpec(Strict):
    """Where the job exposes its own metrics."""

    port: Annotated[int, Field(ge=1, le=65535)]
    path: Annotated[str, Field(pattern=r"^/", max_length=256)]


class NotificationSpec(Strict):
    """One notification rule of this job: one trigger; the channel is named, never its address."""

    trigger: Literal["job_queued", "job_running", "job_abnormal", "job_failed", "job_succeeded"]
    channel: str
    language: Literal["zh", "en"] = "zh"


class SharedStorageSpec(Strict):
    """A read-write-many volume at /tmp/ray on head and workers."""

    volume: str
    clean_up: bool = False


class AutoscalingSpec(Strict):
    """Ray's own scaling between two sizes."""

    min: Annotated[int, Field(ge=0)]
    max: Annotated[int, Field(ge=0)]
    idle_timeout_s: Annotated[int, Field(ge=10, le=86400)] = 60
    mode: Literal["Default", "Aggressive", "Conservative"] = "Default"


class RayHeadSpec(Strict):
    """The head of a Ray cluster; it holds resources beside the workers."""

    gpus: GpuCount = 0
    cpus: Annotated[float, Field(ge=0, le=4096)] = 1
    memory_mib: Annotated[int, Field(ge=0)] = 0


class RaySpec(Strict):
    """Fields that only a RayJob has. runtime_env: YAML text of a mapping."""

    head: RayHeadSpec = RayHeadSpec()
    shared_storage: SharedStorageSpec | None = None
    autoscaling: AutoscalingSpec | None = None
    runtime_env: Annotated[str, Field(max_length=65536)] | None = None


class JobSpec(Strict):
    """The whole specification of a training job."""

    name: Name
    display_name: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    description: Annotated[str, Field(max_length=4096)] | None = None
    type: Annotated[JobType, BeforeValidator(_any_case)] = JobType.PYTORCH
    image: Annotated[str, Field(min_length=1, max_length=512)]
    command: Annotated[tuple[Annotated[str, Field(max_length=65536)], ...], Field(min_length=1)]
    resource: ResourceSpec
    node_policy: NodePolicySpec | None = None
    locality: LocalitySpec | None = None
    tolerations: Annotated[tuple[TolerationSpec, ...], Field(max_length=20)] = ()
    auto_queue: AutoQueueSpec = AutoQueueSpec()
    fault_tolerance: FaultToleranceSpec = FaultToleranceSpec()
    debug: DebugSpec = DebugSpec()
    storage: Annotated[tuple[VolumeSpec, ...], Field(max_length=100)] = ()
    checkpoint_dir: str | None = None
    environment: Annotated[tuple[EnvVar, ...], Field(max_length=100)] = ()
    labels: Mapping[str, str] = {}
    metrics: MetricsSpec | None = None
    progress: ProgressSpec = ProgressSpec()
    notifications: Annotated[tuple[NotificationSpec, ...], Field(max_length=20)] = ()
    max_runtime_s: Annotated[int, Field(ge=1, le=MAX_RUNTIME_S)] | None = None
    start_deadline_s: Annotated[int, Field(ge=1, le=86400)] = 900
    grace_s: Annotated[int, Field(ge=1, le=600)] = 30
    ray: RaySpec | None = None

    def demand(self) -> Demand:
        """Return the small part that travels in every event. The spec must be valid."""
        resource = self.resource
        idle = resource.type is ResourceClass.IDLE
        return Demand(
            type=self.type,
            resource_class=resource.type,
            roles=self._roles(),
            priority=None if idle else priority_of(resource.priority),
            guarantee=resource.guarantee,
            stability_level=resource.stability_level,
            node_policy=_policy(self.node_policy),
            zone=resource.zone,
            locality=_locality(self.locality),
            tolerations=tuple(Toleration(key=t.key, value=t.value) for t in self.tolerations),
            queue=queue_limits(self.auto_queue),
            max_restarts=_restarts(self.fault_tolerance),
            restart_exit_codes=exit_codes(self.fault_tolerance.exit_codes),
            restart_strategy=self.fault_tolerance.strategy,
            restart_keywords=self.fault_tolerance.log_keywords,
            hang=_hang(self.fault_tolerance),
            grace_s=self.grace_s,
            start_deadline_s=self.start_deadline_s,
            max_runtime_s=self.max_runtime_s,
            debug_hold_s=self.debug.hold_seconds if self.debug.enabled else 0,
        )

    def _roles(self) -> tuple[Role, ...]:
        resource = self.resource
        workers = Role(
            name="worker",
            replicas=resource.replicas,
            gpus=resource.gpus_per_replica,
            gpu_milli=resource.gpu_milli_per_replica,
            gpu_model=resource.gpu_model,
            # a worker without GPUs takes a core, or any number of them would fit on a node
            cpus=resource.cpus_per_replica or (0 if resource.has_gpu else 1),
            memory_mib=resource.memory_mib_per_replica,
            extended=dict(resource.extended),
        )
        if self.type is not JobType.RAY:
            return (workers,)
        head = self.ray.head if self.ray else RayHeadSpec()
        return (
            Role(
                name="head",
                replicas=1,
                gpus=head.gpus,
                gpu_model=resource.gpu_model if head.gpus else None,
                cpus=head.cpus,
                memory_mib=head.memory_mib,
            ),
            workers,
        )


def priority_of(value: str | int | None) -> int:
    """Return the number of a priority; the default is normal."""
    if value is None:
        return PRIORITIES["normal"]
    return PRIORITIES[value] if isinstance(value, str) else value


def exit_codes(text: str | None) -> tuple[tuple[int, int], ...]:
    """Parse "1,200-205" to inclusive ranges ((1, 1), (200, 205))."""
    if not text:
        return ()
    pairs = (part.partition("-") for part in text.split(","))
    return tuple((int(low), int(high or low)) for low, _, high in pairs)


def _locality(spec: LocalitySpec | None) -> Locality | None:
    return Locality(mode=spec.mode, level=spec.level) if spec else None


def _policy(spec: NodePolicySpec | None) -> NodePolicy | None:
    return NodePolicy(type=spec.type, nodes=spec.nodes) if spec else None


def _restarts(spec: FaultToleranceSpec) -> int:
    return spec.max_retries if spec.enabled else 0


def _hang(spec: FaultToleranceSpec) -> HangLimits | None:
    if not spec.enabled or spec.hang.action == "off":
        return None
    return HangLimits(window_s=spec.hang.window_s, restart=spec.hang.action == "restart")
