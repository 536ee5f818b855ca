"""People and systems around a random walk: they submit, stop, resume, and take nodes away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from muster.cli.simulation.client import Client
from muster.cli.simulation.jobs import random_spec
from muster.domain.nodes import NodeCondition
from muster.domain.state import JobState
from muster.testing.cluster import SimCluster
from muster.testing.dice import Dice
from muster.testing.invariants.base import Known
from muster.testing.world import Option, World

ENOUGH = 10_000
"""GPUs of an item that nobody ever has too few of."""

Wish = Callable[[Dice], tuple[str, dict[str, Any]]]


class Users:
    """Surroundings of a world. weight: of each wish; jobs: how many are submitted at most."""

    def __init__(self, client: Client, cluster: SimCluster, known: Known, *, jobs: int) -> None:
        self._client, self._cluster, self._known = client, cluster, known
        self._left = jobs
        self._asked = 0
        self._like: tuple[str, dict[str, Any]] | None = None
        self._fencing: dict[str, str] = {}
        self._last: tuple[Client, str, str, dict[str, Any]] | None = None
        self._items: set[tuple[str, str]] = set()
        self._tenants = {client.tenant: client, "beta": client.of("beta")}

    def next_time(self, world: World) -> float | None:
        """See Surroundings; people act when chance says so."""
        return None

    def pass_time(self, world: World) -> None:
        """See Surroundings: a machine that was fenced may come back once the log says so."""
        for request, name in list(self._fencing.items()):
            if self._client.answers(request):
                self._cluster.nodes[name].kept_off = False
                del self._fencing[request]

    def options(self, world: World) -> Iterable[Option]:
        """Yield what somebody may ask for now."""
        if self._left:
            yield Option(0.6, "submit", partial(self.submit, world))
        jobs = list(self._known.jobs.values())
        if jobs:
            job = world.dice.one_of(jobs)
            yield Option(0.15, f"ask about {job.job}", partial(self._about_job, world, job))
        nodes = list(self._known.nodes)
        if nodes:
            node = world.dice.one_of(nodes)
            yield Option(0.25, f"ask about {node}", partial(self._about_node, world, node))
            yield Option(0.06, "ask about a tenant", partial(self._about_tenant, world))
            yield Option(0.06, "speak of stock", partial(self._about_stock, world))
        if self._last is not None:
            yield Option(0.1, "the last request again", self._again)

    def submit(self, world: World) -> None:
        """Somebody wants a job of any kind, or one more of the last: these stand in one line."""
        self._left -= 1
        shapes = [node.shape for node in self._cluster.nodes.values()]
        tenant = world.dice.one_of(tuple(self._tenants))
        if self._like is None or world.dice.chance(0.7):
            self._like = tenant, random_spec(world.dice, self._asked, shapes)
        tenant, spec = self._like
        self._ask("submit", tenant, spec=spec | {"name": f"job-{self._asked}"})

    def _about_job(self, world: World, job: JobState) -> None:
        dice = world.dice
        queue = {
            "enabled": True,
            "max_queue_hours": dice.whole(1, 2),
            "max_requeues": dice.whole(0, 3),
        }
        wishes: list[tuple[str, dict[str, Any]]] = [
            ("stop", {}),
            ("resume", dice.one_of(({}, {"auto_queue": queue}))),
            ("resume", {}),
            ("respecify", {"auto_queue": queue}),
            ("prioritise", {"priority": dice.whole(1, 99)}),
            ("relabel", {"labels": {"team": dice.one_of(("a", "b"))}}),
        ]
        verb, data = dice.one_of(wishes)
        self._ask(verb, job.tenant, job=job.job, **data)

    def _about_tenant(self, world: World) -> None:
        """An operator changes what a tenant may use."""
        dice = world.dice
        model = dice.one_of(sorted({n.shape.gpu_model for n in self._known.nodes.values()}))
        guaranteed = dice.whole(0, 8)
        share = {"gpu_model": model, "guaranteed": guaranteed}
        capped = share | {"ceiling": guaranteed + dice.whole(0, 12)}
        node = dice.one_of(tuple(self._known.nodes))
        wishes: list[tuple[str, dict[str, Any]]] = [
            ("set_quota", {"shares": [share]}),
            ("set_quota", {"shares": [capped]}),
            ("set_quota", {"whole": True}),
            ("set_blocklist", {"add": [node]}),
            ("set_blocklist", {"remove": [node]}),
            ("set_blocklist", {"add": [node], "only_user": self._client.user}),
            *[("set_spot", {"enabled": enabled}) for enabled in (False, False, True)],
        ]
        verb, data = dice.one_of(wishes)
        self._ask(verb, about=dice.one_of(tuple(self._tenants)), **data)

    def _about_stock(self, world: World) -> None:
        """A provider says what spot jobs may hold."""
        dice = world.dice
        shape = self._known.nodes[dice.one_of(tuple(self._known.nodes))].shape
        self._ask(
            "set_stock",
            zone=shape.zone,
            gpu_model=shape.gpu_model,
            gpus=dice.one_of((None, 0, dice.whole(1, 12), ENOUGH)),
            notice_s=dice.one_of((0, 10, 120)),
        )
        self._items.add((shape.zone, shape.gpu_model))

    def _about_node(self, world: World, name: str) -> None:
        dice, node = world.dice, self._known.nodes[name]
        wishes: list[tuple[str, dict[str, Any]]] = [
            ("reclaim_node", {"notice_s": dice.one_of((0, 10, 120))}),
            ("cordon_node", {}),
            ("drain_node", {}),
            ("uncordon_node", {}),
            ("uncordon_node", {}),
        ]
        if node.condition in {NodeCondition.GONE, NodeCondition.LOST}:
            self._fence(world, name)
            return
        verb, data = dice.one_of(wishes)
        self._ask(verb, node=name, **data)

    def _fence(self, world: World, name: str) -> None:
        """Make sure that nothing runs there, and say so; that word is never said twice."""
        if name in self._fencing.values():
            return
        self._cluster.power_off(name, world.time.elapsed)
        self._cluster.nodes[name].kept_off = True
        self._fencing[self._ask("fence_node", node=name)] = name
        self._last = None

    def _ask(self, verb: str, tenant: str = "", about: str = "", **data: Any) -> str:
        """Ask in a tenant's name; about: the tenant that the request speaks of."""
        self._asked += 1
        request = f"r{self._asked}"
        client = self._tenants.get(tenant, self._client)
        if about:
            data["tenant"] = about
        client.ask(verb, request, **data)
        self._last = (client, verb, request, data)
        return request

    def _again(self) -> None:
        assert self._last is not None
        client, verb, request, data = self._last
        client.ask(verb, request, **data)

    def heal(self) -> None:
        """Open every node again, as an operator would after the trouble, and to every tenant."""
        self._left = 0
        for name in self._tenants:
            self._ask("set_quota", about=name, whole=True)
            self._ask("set_spot", about=name, enabled=True)
            for user in ({}, {"only_user": self._client.user}):
                nodes = sorted(self._known.nodes)
                self._ask("set_blocklist", about=name, remove=nodes, **user)
        for zone, model in sorted(self._items):
            self._ask("set_stock", zone=zone, gpu_model=model, gpus=ENOUGH)
        for name in self._known.nodes:
            self._ask("uncordon_node", node=name)
