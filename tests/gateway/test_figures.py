"""Figures follow the log: what is gone has none, what waits is counted once, labels stay few."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from random import Random

import pytest
from prometheus_client import REGISTRY

import muster
from muster.bus.topology import SCHEDULER_QUERIES
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.gateway.http.metrics import Metrics
from muster.runtime.database import Database
from muster.scheduler.cycle import metrics as scheduler_metrics
from tests.gateway.worlds import TENANT, Gateway, World

DESK = SCHEDULER_QUERIES.group
_SERIES = re.compile(r"^(?P<name>muster_\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)$")

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def page(gateway: Gateway) -> Series:
    """Our own series, as a scrape reads them now."""
    text = Metrics(gateway.reading, gateway.hub).text(waiting=0, end=0).decode()
    found: Series = {}
    for line in text.splitlines():
        if match := _SERIES.match(line):
            labels = re.findall(r'(\w+)="([^"]*)"', match["labels"] or "")
            if dict(labels).get("desk", DESK) != DESK:
                continue  # other tests have desks of their own in this process
            found[match["name"], tuple(labels)] = float(match["value"])
    return found


def jobs(series: Series) -> dict[tuple[str, str], float]:
    """Pool and phase -> jobs."""
    return {
        (dict(labels)["pool"], dict(labels)["phase"]): value
        for (name, labels), value in series.items()
        if name == "muster_jobs"
    }


def gone(series: Series) -> Series:
    """What speaks of the present alone: no counters of what has happened in this process."""
    return {k: v for k, v in series.items() if k[0] in {"muster_jobs", "muster_pool_gpus"}}


@pytest.mark.case("SCL-06")
async def test_what_is_gone_has_no_figures_and_nothing_grows(
    gateway: Gateway, world: World
) -> None:
    await world.joined("n1")
    await gateway.settle()
    before, size = gone(page(gateway)), 0
    for number in range(60):
        await world.joined("w1", pool=f"west{number % 3}")
        await world.ended(f"v{number}", tenant=f"t{number}", pool=f"west{number % 3}")
        await gateway.follow.step()
        there = jobs(page(gateway))
        assert there == {(f"west{number % 3}", "succeeded"): 1}
        await world.left("w1", pool=f"west{number % 3}")
        await gateway.settle()
        await gateway.settle()
        size = size or len(page(gateway))
    assert gone(page(gateway)) == before
    assert len(page(gateway)) == size
    assert not gateway.view.jobs
    assert not [labels for _, labels in page(gateway) if re.search(r"\bv\d+|\bt\d+", str(labels))]


WAITING = f.Withdrawal.PLAN_ABANDONED


def moves(state: JobState, dice: Random) -> tuple[Owner, f.Fact]:
    """Something that may happen to a job next; none of it ends the job."""
    at = state.attempt
    match state.phase:
        case Phase.QUEUED:
            entry = state.queue_entry
            choices: list[tuple[Owner, f.Fact]] = [
                (Owner.SCHEDULER, f.Scheduled(placement={"n1": ("worker-0", "worker-1")})),
                (Owner.REQUEUE, f.QueueTimedOut(entry=entry)),
            ]
        case Phase.STARTING:
            choices = [
                (Owner.SCHEDULER, f.Unscheduled(cause=WAITING)),
                (Owner.EXECUTOR, f.StartRefused(attempt=at, permanent=False, why="no room")),
            ]
        case _:
            request = f"r-{state.version}"
            choices = [(Owner.ADMISSION, f.Resumed(by="ann", request=request))]
    return dice.choice(choices)


@pytest.mark.case("SCL-11")
async def test_the_jobs_that_wait_are_counted_right_after_a_thousand_moves_and_a_restart(
    gateway: Gateway, world: World, database: Database
) -> None:
    dice = Random(11)
    names = [f"q{number}" for number in range(10)]
    for name in names:
        await world.queued(name)
    for move in range(1000):
        name = dice.choice(names)
        last = await world.pen(Owner.ADMISSION).job(TENANT, name)
        assert last is not None
        await world.say(name, *moves(last.job, dice))
        if move % 50 == 49:
            await gateway.follow.step()
            await counted(gateway, world, names)
        if move == 500:
            gateway = Gateway(world, database, gateway.settings)


async def counted(gateway: Gateway, world: World, names: list[str]) -> None:
    """The page says of every phase what the log says, and in all what there is."""
    found = jobs(page(gateway))
    states = [await world.pen(Owner.ADMISSION).job(TENANT, name) for name in names]
    true = Counter(("default", item.job.phase.value) for item in states if item)
    assert found == dict(true)
    assert sum(found.values()) == len(names)
    assert all(value > 0 for value in found.values())


KNOWN_LABELS = frozenset(
    {
        *("pool", "phase", "state", "event", "service", "outcome", "route", "status"),
        *("durable", "channel", "loop", "desk", "stream", "reason", "kind", "le"),
        *("level", "hours", "rule", "trigger", "fault"),
    }
)
"""Each has few values, all of them ours: no job, no person, no text that somebody writes.

rule: the ids of failure rules in shadow, which ship with us or are a site's own. trigger: what
notices may tell. fault: how a receiver may refuse one."""


@pytest.mark.case("SCL-08")
async def test_no_figure_is_told_apart_by_job_person_or_text(
    gateway: Gateway, world: World
) -> None:
    for module in pkgutil.walk_packages(muster.__path__, "muster."):
        if "metrics" in module.name or module.name == "muster.runtime.journal":
            importlib.import_module(module.name)
    metrics = set(REGISTRY._collector_to_names) - {None}
    ours = [m for m in metrics if getattr(m, "_name", "").startswith("muster_")]
    assert len(ours) > 10
    for metric in ours:
        assert set(metric._labelnames) <= KNOWN_LABELS, metric._name  # type: ignore[attr-defined]
    size, series = 0, page(gateway)
    for number in range(40):
        labels = {"team": f"team {number}", "error": f"text {number}"}
        await world.running(f"j{number}", user=f"user{number}", tenant=f"t{number}", labels=labels)
        await gateway.follow.step()
        series = page(gateway)
        size = size or len(series)
    assert len(series) == size
    assert not [key for key in series if re.search(r"(j|t|user|team |text )\d", str(key[1]))]


@pytest.mark.case("SCL-06")
def test_a_scheduler_that_no_longer_leads_has_no_figures_of_the_queue() -> None:
    meter = scheduler_metrics.Meter("figures")
    meter.queue(waiting=7, unreached=2)
    sample = ("muster_scheduler_waiting", {"pool": "figures"})
    assert REGISTRY.get_sample_value(*sample) == 7
    meter.leads(False)
    assert REGISTRY.get_sample_value(*sample) is None
    meter.queue(waiting=1, unreached=0)
    assert REGISTRY.get_sample_value(*sample) == 1
