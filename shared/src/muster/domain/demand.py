"""What a job asks of the cluster, small enough to travel in every event."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.domain.model import Frozen, Token


class JobType(StrEnum):
    """The kinds of job that Muster runs."""

    PYTORCH = "PyTorchJob"
    RAY = "RayJob"


class ResourceClass(StrEnum):
    """How the capacity is paid for and how safe it is."""

    RESERVED = "reserved"
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    IDLE = "idle"


class StabilityLevel(StrEnum):
    """For idle jobs: the higher, the smaller the risk of reclaim and the fewer fragments."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class NodePolicyType(StrEnum):
    """`NodeIn`: only these nodes. `NodeNotIn`: any but these."""

    NODE_IN = "NodeIn"
    NODE_NOT_IN = "NodeNotIn"


class NodePolicy(Frozen):
    """The user's own choice of nodes."""

    type: NodePolicyType
    nodes: tuple[str, ...]

    def allows(self, node: str) -> bool:
        """Tell whether the policy lets a worker onto `node`."""
        named = node in self.nodes
        return named if self.type is NodePolicyType.NODE_IN else not named


class LocalityMode(StrEnum):
    """`required`: wait for a domain that holds the gang. `preferred`: spread when none does."""

    REQUIRED = "required"
    PREFERRED = "preferred"


class Locality(Frozen):
    """How near to each other the workers of a gang must be, or should be.

    level: "node", or the key of a node label whose value names the domain (a switch, a zone). All
    workers on nodes of one domain of that level, or of a finer one.
    """

    mode: LocalityMode
    level: str


class Toleration(Frozen):
    """A taint that the job puts up with: of this key and value, or of any where one is None."""

    key: str | None = None
    value: str | None = None


class Role(Frozen):
    """Workers of one shape. Amounts are per worker: GPUs, CPU cores, MiB of memory.

    gpu_milli: thousandths of one card (1-999) that it shares with others; never beside whole GPUs.
    gpu_model: alternatives are joined with `|`; None = any.
    """

    name: Token
    replicas: int
    gpus: int = 0
    gpu_milli: int = 0
    gpu_model: str | None = None
    cpus: float = 0
    memory_mib: int = 0
    extended: Mapping[str, int] = {}

    @property
    def workers(self) -> tuple[str, ...]:
        """Names of the workers of this role, in rank order."""
        return tuple(f"{self.name}-{index}" for index in range(self.replicas))


_TIERS = {ResourceClass.IDLE: 0, ResourceClass.SPOT: 1}


class QueueLimits(Frozen):
    """Auto-queue as the user set it: hours for each queueing (1-12), requeues (0-3)."""

    max_queue_hours: int
    max_requeues: int


class HangLimits(Frozen):
    """What to do when the job makes no progress for window_s. restart False: only tell people."""

    window_s: int
    restart: bool


class FaultStrategy(StrEnum):
    """Which failures the user wants restarted."""

    ON_FAILURE = "on_failure"
    EXIT_CODES = "exit_codes"
    LOG_KEYWORDS = "log_keywords"
    ALWAYS = "always"


UNCONDITIONAL = 3
"""Restarts of a job that restarts whatever happens (`always`), at most."""


class Demand(Frozen):
    """Everything that a decision after admission needs to know of the specification.

    priority: 1-99, higher first; None for idle jobs, which have none. (What may be None must be
    None when it is left out: absent is how None travels.)
    restart_exit_codes, restart_strategy, restart_keywords: which failures the user's restarts are
    for; the codes narrow every strategy but `log_keywords` and `always`.
    zone: None = any. queue: None when auto-queue is off; hang: when nobody looks for hangs. Times
    are seconds.
    """

    type: JobType
    resource_class: ResourceClass
    roles: tuple[Role, ...]
    priority: int | None = None
    guarantee: bool = False
    stability_level: StabilityLevel | None = None
    node_policy: NodePolicy | None = None
    zone: str | None = None
    locality: Locality | None = None
    tolerations: tuple[Toleration, ...] = ()
    queue: QueueLimits | None = None
    max_restarts: int = 0
    restart_exit_codes: tuple[tuple[int, int], ...] = ()
    restart_strategy: FaultStrategy = FaultStrategy.ON_FAILURE
    restart_keywords: tuple[str, ...] = ()
    hang: HangLimits | None = None
    grace_s: int = 30
    start_deadline_s: int = 900
    max_runtime_s: int | None = None
    debug_hold_s: int = 0

    @property
    def workers(self) -> tuple[str, ...]:
        """Every worker of the gang, role by role."""
        return tuple(worker for role in self.roles for worker in role.workers)

    @property
    def gpus(self) -> int:
        """Whole GPUs of the gang."""
        return sum(role.gpus * role.replicas for role in self.roles)

    @property
    def gpu_milli(self) -> int:
        """Thousandths of shared GPUs of the gang, beside the whole ones."""
        return sum(role.gpu_milli * role.replicas for role in self.roles)

    def role_of(self, worker: str) -> Role:
        """Return the role of a worker by its name. Raises KeyError for a foreign name."""
        name = worker.rpartition("-")[0]
        for role in self.roles:
            if role.name == name:
                return role
        raise KeyError(worker)

    @property
    def tier(self) -> int:
        """Order of being a victim: idle before spot before the rest (decision D3)."""
        return _TIERS.get(self.resource_class, 2)
