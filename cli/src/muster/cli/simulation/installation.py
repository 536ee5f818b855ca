"""A whole installation in a world: cluster, services, invariants, and a client that asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muster.cli.simulation.client import Client
from muster.cli.simulation.sameness import FreshDecidesTheSame
from muster.cli.simulation.services import service_plans
from muster.domain.nodes import NodeShape
from muster.testing.cluster import Script, SimCluster, WorkerId
from muster.testing.cluster_life import ClusterLife
from muster.testing.faults import CALM, Faults
from muster.testing.invariants import every
from muster.testing.invariants.base import Fold
from muster.testing.process import ServicePlan
from muster.testing.virtual_time import VirtualTime
from muster.testing.world import World

Plans = Callable[[SimCluster, VirtualTime, int], Sequence[ServicePlan]]


@dataclass(frozen=True, slots=True)
class Installation:
    """What a walk or a scenario works with."""

    world: World
    cluster: SimCluster
    life: ClusterLife
    fold: Fold
    client: Client


def install(
    seed: int,
    nodes: Mapping[str, NodeShape],
    script_of: Callable[[WorkerId], Script],
    *,
    faults: Faults = CALM,
    replicas: int = 1,
    trouble: float = 0.0,
    plans: Plans = service_plans,
) -> Installation:
    """Put everything together. trouble: weight of what goes wrong with machines."""
    time = VirtualTime()
    cluster = SimCluster(script_of)
    for name, shape in nodes.items():
        cluster.add(name, shape)
    life, fold = ClusterLife(cluster, trouble), every(cluster)
    fold.invariants.append(FreshDecidesTheSame(fold.known))
    world = World(
        seed,
        plans(cluster, time, replicas),
        faults=faults,
        surroundings=[life],
        watchers=[fold],
        time=time,
    )
    return Installation(world, cluster, life, fold, Client(world))
