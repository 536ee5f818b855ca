"""The real services of one installation, as plans of a world."""

from __future__ import annotations

from muster.admission import service as admission
from muster.cli.simulation.backend import SimBackend
from muster.executor import service as executor
from muster.executor.settings import ExecutorSettings
from muster.fault_tolerance import service as fault_tolerance
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.requeue import service as requeue
from muster.runtime.service import Runtime, Service
from muster.scheduler import service as scheduler
from muster.scheduler.settings import SchedulerSettings
from muster.testing.cluster import SimCluster
from muster.testing.databases import in_memory
from muster.testing.gates import ProcessHooks
from muster.testing.process import ServicePlan
from muster.testing.virtual_time import VirtualTime

SCHEDULER = SchedulerSettings(turn_s=0.5, gather_s=0, checkpoint_s=0)
EXECUTOR = ExecutorSettings(
    publish_logs=False,
    watch_progress=False,
    collect_metrics=False,
    watch_s=1.0,
    sweep_s=5.0,
    nodes_s=5.0,
)
FAULT_TOLERANCE = FaultToleranceSettings(nodes_s=15.0)


def service_plans(cluster: SimCluster, time: VirtualTime, replicas: int = 1) -> list[ServicePlan]:
    """Return the plans of everything that decides. replicas: of each stateless service."""

    def build_executor(runtime: Runtime, hooks: ProcessHooks) -> Service:
        return executor.build(runtime, EXECUTOR, SimBackend(cluster, time, hooks))

    def build_scheduler(runtime: Runtime, hooks: ProcessHooks) -> Service:
        return scheduler.build(runtime, SCHEDULER)

    return [
        ServicePlan("admission", lambda runtime, hooks: admission.build(runtime), replicas),
        ServicePlan("requeue", lambda runtime, hooks: requeue.build(runtime), replicas),
        ServicePlan(
            "fault-tolerance",
            lambda runtime, hooks: fault_tolerance.build(runtime, FAULT_TOLERANCE),
            replicas,
            in_memory,
        ),
        ServicePlan("executor", build_executor),
        ServicePlan("scheduler", build_scheduler, replicas),
    ]
