"""The figures of a replay for people: two tables, in the language that is spoken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from muster.cli.output import rows, table
from muster.cli.simulation.replay.figures import Document
from muster.cli.texts import pick, say
from muster.cli.words import plain, span

MEASURES = ("first_wait_s", "queue_s", "jct_s")


def title(figures: Document) -> str:
    """Return the line above the tables."""
    work = figures["workload"]
    return say(
        "replay.title",
        jobs=work["jobs"],
        nodes=work["nodes"],
        gpus=work["gpus"],
        name=plain(work["name"]),
    )


def figure_table(figures: Document) -> Table:
    """Return names and values."""
    return rows(table("", ""), pairs(figures))


def time_table(figures: Document) -> Table:
    """Return the times of each class."""
    names = ("measure", "class", "jobs", "mean", "p50", "p95", "max")
    return rows(table(*(say(f"replay.column.{name}") for name in names)), times(figures))


def times(figures: Document) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of times."""
    for measure in MEASURES:
        for name, spread in figures[measure].items():
            seconds = (span(spread[part]) for part in ("mean", "p50", "p95", "max"))
            yield (
                say(f"replay.measure.{measure}"),
                say(f"replay.class.{name}"),
                str(spread["jobs"]),
                *seconds,
            )


def pairs(figures: Document) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each figure."""
    allocation, evictions = figures["allocation"], figures["evictions"]
    starved, ends, run = figures["starvation"], dict(figures["ends"]), figures["run"]
    refused, resumed = ends.pop("refused"), ends.pop("resumed")
    yield say("replay.figure.load"), _text(figures["workload"]["offered_load"])
    yield say("replay.figure.allocation"), f"{allocation['percent']} %"
    until = allocation["until_last_submission_percent"]
    yield say("replay.figure.allocation_submit"), f"{until} %"
    yield say("replay.figure.fragmentation"), _fragmentation(figures["fragmentation"])
    yield say("replay.figure.evictions"), _counts(evictions["by_cause"])
    if evictions["hour_eviction_rate"] is not None:
        yield say("replay.figure.rate"), f"{100 * evictions['hour_eviction_rate']:.2f} %"
    yield say("replay.figure.lost"), _text(figures["lost_gpu_hours"])
    longest = f"{span(starved['longest_wait_s'])} / {span(starved['bound_s'])}"
    yield say("replay.figure.longest"), f"{longest} ({plain(_text(starved['job']))})"
    yield say("replay.figure.beyond"), _text(starved["beyond_bound"])
    yield say("replay.figure.makespan"), span(figures["makespan_s"])
    yield say("replay.figure.ends"), _counts(ends)
    yield say("replay.figure.refused"), _counts(refused)
    yield from _misfits(figures["never_fit"])
    yield say("replay.figure.resumed"), _text(resumed)
    yield say("replay.figure.rounds"), f"{figures['rounds']}, {figures['events']}"
    speed = say("replay.speed", seconds=run["wall_s"], rate=run["jobs_per_s"])
    yield say("replay.figure.speed"), speed


def _text(value: object) -> str:
    return say("replay.none") if value is None else str(value)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or say("replay.none")


def _misfits(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how many there are, and of the first ones why."""
    yield say("replay.figure.never_fit"), _text(found["jobs"] or None)
    for one in found["first"]:
        yield "", f"{plain(one['job'])}: {pick((one['why'], one['why_zh']))}"
    if found["jobs"] > len(found["first"]):
        yield "", "…"


def _fragmentation(found: Mapping[str, Any]) -> str:
    if found["mean_percent"] is None:
        return say("replay.none")
    return f"{found['mean_percent']} % / {found['max_percent']} %"


def settings(figures: Document) -> Iterator[tuple[str, str]]:
    """Yield every setting and its value, as they are called in the JSON."""
    for name, value in figures["settings"].items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", _plain(each)) for inner, each in value.items())
        else:
            yield name, _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(each) for each in value)
    return say("replay.none") if value is None else str(value)
