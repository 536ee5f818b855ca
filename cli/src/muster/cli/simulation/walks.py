"""Random walks with faults: each seed is one installation, its jobs, and all that goes wrong.

A walk makes so many random steps; then the faults stop, machines come back, and the world must come
to rest with every job over or parked. The invariants look on at every step.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from time import perf_counter

import structlog

from muster.cli.simulation.history import history_of
from muster.cli.simulation.installation import Installation, Plans, install
from muster.cli.simulation.jobs import RACK, TAINT, RandomScripts
from muster.cli.simulation.services import service_plans
from muster.cli.simulation.users import Users
from muster.domain.nodes import ForeignUse, Taint
from muster.domain.phases import PARKED, TERMINAL
from muster.testing.cluster import shape
from muster.testing.dice import Dice
from muster.testing.faults import CALM, Faults, drawn
from muster.testing.steady import advance, settle
from muster.testing.violation import Violation
from muster.testing.walk import step
from muster.testing.world import World

IDLE_S = 150.0
"""Then loops need not turn more often than this while nothing happens."""
CALM_S = 20 * 3600.0
"""After the faults, so long until every job must be over."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one seed came to. steps: all that were made; events: what stands in the log.

    digest: of everything in the log; the same in every run of a seed.
    """

    seed: int
    steps: int
    events: int
    jobs: int
    seconds: float
    digest: str
    invariant: str = ""
    text: str = ""
    report: tuple[str, ...] = field(default=())

    @property
    def broken(self) -> bool:
        """Whether an invariant did not hold."""
        return bool(self.invariant)


def walk(
    seed: int, steps: int, *, faults: Faults | None = None, plans: Plans = service_plans
) -> Outcome:
    """Walk one seed. faults: instead of those that the seed draws."""
    began = perf_counter()
    installation, users = _prepare(seed, faults, plans)
    world, violation = installation.world, None
    try:
        _open(installation, users)
        for _ in range(steps):
            step(world)
        _calm_down(installation, users)
    except Violation as error:
        violation = error
    finally:
        world.close()
    return Outcome(
        seed=seed,
        steps=world.steps,
        events=len(world.store.entries),
        jobs=len(installation.fold.known.jobs),
        seconds=perf_counter() - began,
        digest=_digest(world),
        invariant=violation.invariant if violation else "",
        text=violation.text if violation else "",
        report=tuple(history_of(world, violation)) if violation else (),
    )


def _digest(world: World) -> str:
    whole = hashlib.sha256()
    for entry in world.store.entries:
        whole.update(entry.subject.encode())
        whole.update(entry.body)
    return whole.hexdigest()


def _prepare(seed: int, faults: Faults | None, plans: Plans) -> tuple[Installation, Users]:
    dice = Dice(seed)
    gpus = dice.one_of((4, 8))
    spot = dice.one_of((0.0, 0.5, 1.0))
    taints, racks = dice.one_of((0.0, 0.0, 0.5)), dice.one_of((0.0, 0.7))
    nodes = {
        f"n{number}": shape(
            gpus,
            spot=dice.chance(spot),
            labels={RACK: dice.one_of(("a", "b"))} if dice.chance(racks) else {},
            taints=[Taint(key=TAINT, value="yes")] if dice.chance(taints) else [],
        )
        for number in range(dice.whole(2, 4))
    }
    mixture = faults if faults is not None else drawn(dice)
    installation = install(
        seed,
        nodes,
        RandomScripts(seed),
        faults=mixture,
        replicas=dice.whole(1, 2),
        trouble=0.0 if faults is CALM else dice.one_of((0.0, 0.1, 0.4)),
        plans=plans,
    )
    known, cluster = installation.fold.known, installation.cluster
    for node in cluster.nodes.values() if dice.chance(0.3) else ():
        node.foreign = ForeignUse(gpus=dice.whole(0, gpus))
    users = Users(installation.client, cluster, known, jobs=dice.whole(2, 8))
    installation.world.surroundings.append(users)
    return installation, users


def _open(installation: Installation, users: Users) -> None:
    """In most worlds everything is up, and somebody waits, before anything goes wrong."""
    world = installation.world
    if world.dice.chance(0.3):
        return
    faults, world.faults, world.mood.hurried = world.faults, CALM, True
    settle(world)
    for _ in range(world.dice.whole(1, 3)):
        users.submit(world)
    advance(world, 1.0)
    world.faults, world.mood.hurried = faults, False


def _calm_down(installation: Installation, users: Users) -> None:
    """Faults stop, machines are back and open again; then time passes."""
    world = installation.world
    world.faults, world.mood.hurried, world.idle_s = CALM, True, IDLE_S
    for process in world.processes:
        process.paused_until = 0.0
        process.clock.synchronise()
    installation.life.heal(world)
    advance(world, 600.0)
    installation.life.heal(world)
    users.heal()
    advance(world, CALM_S, until=lambda world: _at_rest(world, installation))
    installation.fold.finish(world)


def _at_rest(world: World, installation: Installation) -> bool:
    known = installation.fold.known
    return (
        all(job.phase in TERMINAL | PARKED and not job.held for job in known.jobs.values())
        and not any(durable.open for durable in world.bus.durables.values())
        and not any(True for _ in installation.cluster.alive())
        and not any(alarm.rings_at <= world.time.now() for alarm in world.store.alarms.values())
    )


def simulate_faults(
    seeds: Iterable[int], steps: int = 250, *, workers: int = 1
) -> Iterator[Outcome]:
    """Walk many seeds; yields each outcome as it comes. workers: processes of this machine."""
    if workers <= 1:
        for seed in seeds:
            yield walk(seed, steps)
        return
    with get_context("spawn").Pool(workers, initializer=be_quiet) as pool:
        yield from pool.imap_unordered(_walk_one, ((seed, steps) for seed in seeds), chunksize=8)


def be_quiet() -> None:
    """Services tell their logs of every fault that is injected; here the invariants speak."""
    wrapper = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=wrapper)


def _walk_one(task: tuple[int, int]) -> Outcome:
    return walk(*task)
