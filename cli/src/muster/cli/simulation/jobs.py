"""Random jobs for random walks: what people submit, and how the processes of each behave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from muster.domain.nodes import NodeShape
from muster.testing.cluster import Script, WorkerId
from muster.testing.dice import Dice

RACK, TAINT = "rack", "dedicated"
"""A level of locality that random nodes have, and the key of their taints."""

CLASSES = ("reserved", "on_demand", "on_demand", "spot", "spot", "idle")


def random_spec(dice: Dice, number: int, nodes: Sequence[NodeShape]) -> dict[str, Any]:
    """Return a specification that admission accepts and that fits the pool when it is empty."""
    ray = dice.chance(0.15)
    tolerations = dice.one_of(((), (), ({"key": TAINT},), ({},)))
    open_to = [shape for shape in nodes if tolerations or not shape.taints]
    if not open_to:
        tolerations, open_to = ({"key": TAINT, "value": "yes"},), list(nodes)
    steady = [shape for shape in open_to if not shape.spot]
    kind = dice.one_of(CLASSES if steady else CLASSES[3:])
    usable = steady if kind in CLASSES[:3] else open_to
    resource = _resource(dice, kind, usable)
    spec: dict[str, Any] = {
        "name": f"job-{number}",
        "type": "RayJob" if ray else "PyTorchJob",
        "image": "registry.local/train:1",
        "command": ["python", "train.py"],
        "resource": resource,
        "grace_s": dice.one_of((1, 30, 120)),
        "start_deadline_s": dice.one_of((30, 900)),
    }
    if tolerations:
        spec["tolerations"] = list(tolerations)
    if not ray and dice.chance(0.4):
        spec["locality"] = _locality(dice, resource, usable)
    if dice.chance(0.6):
        spec["auto_queue"] = {
            "enabled": True,
            "max_queue_hours": dice.whole(1, 2),
            "max_requeues": dice.whole(0, 3),
        }
    if dice.chance(0.5):
        spec["fault_tolerance"] = {"enabled": True, "max_retries": dice.whole(0, 2)}
    if dice.chance(0.1):
        spec["max_runtime_s"] = dice.one_of((60, 600))
    if ray and dice.chance(0.5):
        spec["debug"] = {"enabled": True, "hold_seconds": dice.one_of((60, 600))}
    return spec


def _resource(dice: Dice, kind: str, nodes: Sequence[NodeShape]) -> dict[str, Any]:
    gpus = min(shape.gpus for shape in nodes)
    resource: dict[str, Any] = {
        "type": kind,
        "replicas": dice.whole(1, len(nodes)),
        "gpus_per_replica": dice.one_of((1, gpus // 2, gpus, gpus)),
    }
    if dice.chance(0.25):
        resource["gpus_per_replica"] = 0
        resource["gpu_milli_per_replica"] = dice.one_of((1, 250, 500, 501, 999))
    if kind == "idle":
        return resource
    resource["priority"] = dice.one_of(("low", "normal", "high", dice.whole(1, 99)))
    if kind in {"reserved", "on_demand"} and dice.chance(0.4):
        resource["guarantee"] = True
    return resource


def _locality(dice: Dice, resource: dict[str, Any], nodes: Sequence[NodeShape]) -> dict[str, Any]:
    """Return a wish for workers near to each other; required only where an empty pool has it."""
    level = dice.one_of(("node", "zone", RACK, RACK))
    if dice.chance(0.4):
        return {"level": level, "mode": "preferred"}
    if level == "node" and resource["gpus_per_replica"]:
        gpus = min(shape.gpus for shape in nodes)
        resource["gpus_per_replica"], resource["replicas"] = 1, dice.whole(1, gpus)
    elif level == RACK:
        racks = Counter(shape.labels.get(RACK, f"alone {n}") for n, shape in enumerate(nodes))
        resource["replicas"] = max(racks.values())
    return {"level": level, "mode": "required"}


class RandomScripts:
    """How each worker behaves, drawn from the seed and its identity: the same in every run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[WorkerId, Script] = {}

    def __call__(self, who: WorkerId) -> Script:
        """Return the script of a worker."""
        if who not in self._known:
            self._known[who] = self._draw(who)
        return self._known[who]

    def _draw(self, who: WorkerId) -> Script:
        gang = Random(f"{self._seed}/{who.job}/{who.attempt}")
        run_s = gang.choice((5.0, 60.0, 600.0, 3000.0, 3000.0))
        fails = gang.random() < 0.3 and who.worker.endswith("-0")
        refused = gang.random() < 0.04
        own = Random(f"{self._seed}/{who}")
        return Script(
            start_s=own.choice((0.5, 0.5, 5.0, 40.0, 2000.0 if own.random() < 0.1 else 1.0)),
            run_s=run_s * own.uniform(0.9, 1.0),
            exit_code=own.choice((1, 137, 255)) if fails else 0,
            stop_s=own.choice((0.5, 10.0, 100.0, None)),
            stop_code=own.choice((0, 143, 1)),
            kill_s=own.choice((0.1, 0.1, 5.0, 400.0)),
            refused="the image has no such program" if refused else None,
        )
