"""Whether empty nodes have room for a gang: of any order and neighbours nothing is said.

For what can never fit; whether something fits now, a placement round says.
"""

from __future__ import annotations

from collections.abc import Iterable

from muster.domain.demand import Demand, Role
from muster.domain.nodes import NodeShape


def holds(shapes: Iterable[NodeShape], demand: Demand) -> bool:
    """Tell whether empty nodes like these have room for each role, and for all GPUs together."""
    listed = list(shapes)
    gpus = sum(shape.gpus for shape in listed)
    roles = (role for role in demand.roles if role.replicas)
    return gpus >= demand.gpus and all(
        sum(_times(shape, role) for shape in listed) >= role.replicas for role in roles
    )


def _times(shape: NodeShape, role: Role) -> int:
    """Return how many workers of a role an empty node holds."""
    model = role.gpu_model.split("|") if role.gpu_model else [shape.gpu_model]
    if (role.gpus or role.gpu_milli) and shape.gpu_model not in model:
        return 0
    most = role.replicas
    if role.gpus:
        most = min(most, shape.gpus // role.gpus)
    if role.gpu_milli:
        most = min(most, shape.gpus * (1000 // role.gpu_milli))
    if role.cpus:
        most = min(most, round(shape.cpus * 1000) // max(1, round(role.cpus * 1000)))
    if role.memory_mib:
        most = min(most, shape.memory_mib // role.memory_mib)
    wanted = (item for item in role.extended.items() if item[1])
    return min([most, *(shape.extended.get(name, 0) // amount for name, amount in wanted)])
