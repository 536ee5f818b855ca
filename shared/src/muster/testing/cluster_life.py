"""What a cluster does by itself in a world: workers go on, machines are lost and come back, and
others than Muster come and go on them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from muster.domain.nodes import ForeignUse
from muster.testing.cluster import SimCluster, SimNode
from muster.testing.world import Option, World


class ClusterLife:
    """Surroundings of a world. weight: of everything that may go wrong with machines."""

    def __init__(self, cluster: SimCluster, weight: float = 0.0) -> None:
        self.cluster, self.weight = cluster, weight

    def next_time(self, world: World) -> float | None:
        """See Surroundings."""
        return self.cluster.next_time(world.time.elapsed)

    def pass_time(self, world: World) -> None:
        """See Surroundings."""
        self.cluster.catch_up(world.time.elapsed)

    def options(self, world: World) -> Iterable[Option]:
        """Yield one thing that may happen to one machine, and one to a worker."""
        if self.weight <= 0:
            return
        node = world.dice.one_of(list(self.cluster.nodes.values()))
        if node.kept_off:
            return
        if not node.present:
            yield Option(self.weight, f"{node.name} is back", partial(self._back, world, node))
            return
        away, now = self.weight / 2, world.time.elapsed
        remove = partial(self.cluster.remove, node.name, now)
        yield Option(away, f"{node.name} is taken away", remove)
        silence = partial(self.cluster.silence, node.name)
        yield Option(away, f"{node.name} is cut off", silence)
        if node.foreign.gpus or self.cluster.free_gpus(node.name) > 0:
            yield Option(self.weight, f"others on {node.name}", partial(self._others, world, node))
        worker = next(self.cluster.alive(node.name), None)
        if worker is not None:
            end = partial(self.cluster.end, worker.id, now, None)
            yield Option(away, f"{worker.id} vanishes", end)

    def _others(self, world: World, node: SimNode) -> None:
        most = node.foreign.gpus + max(0, self.cluster.free_gpus(node.name))
        gpus = 0 if node.foreign.gpus and world.dice.chance(0.5) else world.dice.whole(0, most)
        self.cluster.occupy(node.name, ForeignUse(gpus=gpus))

    def _back(self, world: World, node: SimNode) -> None:
        self.cluster.restore(node.name)
        self.cluster.catch_up(world.time.elapsed)

    def heal(self, world: World) -> None:
        """Bring every machine back, without others: the end of a random walk begins so."""
        for node in self.cluster.nodes.values():
            self.cluster.occupy(node.name, ForeignUse())
            if not node.present and not node.kept_off:
                self._back(world, node)
