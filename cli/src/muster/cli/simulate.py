"""`muster simulate ...`: the real services in virtual time, with everything that can go wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.session import session_of
from muster.cli.simulation.replay.command import replay as replay_workload
from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_files import BadScenario, read
from muster.cli.simulation.scenario_runner import Differs, tell, tellings
from muster.cli.simulation.scenario_twists import Twist
from muster.cli.simulation.split_brain import Counts, simulate_split_brain
from muster.cli.simulation.split_brain import Outcome as SplitOutcome
from muster.cli.simulation.walks import Outcome, be_quiet, simulate_faults, walk
from muster.cli.texts import say

STEPS = 300

app = typer.Typer(add_completion=False, help=say("help.simulate"), no_args_is_help=True)

Steps = Annotated[int, typer.Option(help=say("option.steps"), min=1)]


@app.callback()
def _group() -> None:
    """Its commands stand on their own."""


app.command("replay", help=say("help.simulate.replay"))(replay_workload)


@app.command(help=say("help.simulate.faults"))
def faults(
    context: typer.Context,
    seeds: Annotated[int, typer.Option(help=say("option.seeds"), min=1)] = 200,
    steps: Steps = STEPS,
    start: Annotated[int, typer.Option(help=say("option.first"), min=0)] = 0,
    workers: Annotated[int, typer.Option(help=say("option.processes"), min=1)] = 1,
    replay: Annotated[int | None, typer.Option(help=say("option.replay"), min=0)] = None,
) -> None:
    """Exit 1 when an invariant was broken."""
    be_quiet()
    as_json = session_of(context).as_json
    if replay is not None:
        outcome = walk(replay, steps)
        _show(outcome, steps, as_json)
        raise typer.Exit(Exit.FAILED if outcome.broken else Exit.DONE)
    began, done = perf_counter(), list[Outcome]()
    for outcome in simulate_faults(range(start, start + seeds), steps, workers=workers):
        done.append(outcome)
        if outcome.broken:
            _show(outcome, steps, as_json)
    _total(done, perf_counter() - began, as_json)
    if any(outcome.broken for outcome in done):
        raise typer.Exit(Exit.FAILED)


@app.command("split-brain", help=say("help.simulate.split_brain"))
def split_brain(
    context: typer.Context,
    rounds: Annotated[int, typer.Option(help=say("option.rounds"), min=1)] = 1000,
    start: Annotated[int, typer.Option(help=say("option.first"), min=0)] = 0,
    workers: Annotated[int, typer.Option(help=say("option.processes"), min=1)] = 1,
) -> None:
    """Exit 1 when an invariant was broken."""
    be_quiet()
    as_json = session_of(context).as_json
    began, done = perf_counter(), list[SplitOutcome]()
    for outcome in simulate_split_brain(rounds, start, workers=workers):
        done.append(outcome)
        if outcome.broken:
            _show_split(outcome, as_json)
    _split_total(done, perf_counter() - began, as_json)
    if any(outcome.broken for outcome in done):
        raise typer.Exit(Exit.FAILED)


def _show_split(outcome: SplitOutcome, as_json: bool) -> None:
    if as_json:
        record = {"seed": outcome.seed, "broken": outcome.invariant, "text": outcome.text}
        output.record({**record, "history": outcome.report})
        return
    steps, broken = outcome.counts.steps, outcome.invariant
    text = say(
        "simulate.broken", seed=outcome.seed, invariant=broken, step=steps, text=outcome.text
    )
    output.line(text)
    for told in outcome.report:
        output.line(f"  {told}")


def _split_total(done: list[SplitOutcome], seconds: float, as_json: bool) -> None:
    total = asdict(sum((outcome.counts for outcome in done), Counts()))
    broken = sorted(outcome.seed for outcome in done if outcome.broken)
    figures = {"seeds": len(done), **total, "seconds": round(seconds, 1)}
    if as_json:
        output.record({**figures, "broken": broken})
        return
    output.line(say("simulate.split_brain", **figures, broken=len(broken)))


@app.command(help=say("help.simulate.scenarios"))
def scenarios(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(help=say("argument.scenario"), exists=True, metavar="PATH...")
    ],
) -> None:
    """Exit 1 when something differs from what a scenario promises."""
    be_quiet()
    as_json = session_of(context).as_json
    stories = list(_stories(paths))
    told = [_tell(story, twist, as_json) for story in stories for twist in _ways(story)]
    broken = told.count(False)
    if not as_json:
        output.line(say("simulate.told", count=len(told), stories=len(stories), broken=broken))
    if broken:
        raise typer.Exit(Exit.FAILED)


def _stories(paths: Iterable[Path]) -> Iterator[Scenario]:
    try:
        for path in paths:
            for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
                yield from read(file).scenarios
    except BadScenario as error:
        raise CliError("scenario", text=error) from error


def _ways(story: Scenario) -> list[Twist]:
    """As it is written; where timing matters, in every other way too."""
    ways = list(tellings(story))
    return ways if story.timing_dependent else ways[:1]


def _tell(story: Scenario, twist: Twist, as_json: bool) -> bool:
    differs = None
    try:
        tell(story, twist)
    except Differs as error:
        differs = str(error)
    if as_json:
        output.record({"scenario": story.title, "told": twist.name, "differs": differs})
    elif differs is not None:
        output.line(differs)
    return differs is None


def _show(outcome: Outcome, steps: int, as_json: bool) -> None:
    if as_json:
        output.record(document(outcome))
        return
    if not outcome.broken:
        output.line(
            say(
                "simulate.held",
                seed=outcome.seed,
                steps=outcome.steps,
                events=outcome.events,
                jobs=outcome.jobs,
            )
        )
        return
    output.line(
        say(
            "simulate.broken",
            seed=outcome.seed,
            invariant=outcome.invariant,
            step=outcome.steps,
            text=outcome.text,
        )
    )
    for told in outcome.report:
        output.line(f"  {told}")
    output.line(say("simulate.again", seed=outcome.seed, steps=steps))


def document(outcome: Outcome) -> dict[str, object]:
    """Return an outcome for programs; the keys are stable."""
    return {
        "seed": outcome.seed,
        "broken": outcome.invariant or None,
        "text": outcome.text or None,
        "steps": outcome.steps,
        "events": outcome.events,
        "jobs": outcome.jobs,
        "digest": outcome.digest,
        "history": outcome.report,
    }


def _total(done: list[Outcome], seconds: float, as_json: bool) -> None:
    steps, events = sum(o.steps for o in done), sum(o.events for o in done)
    broken = sorted(o.seed for o in done if o.broken)
    if as_json:
        total = {"seeds": len(done), "steps": steps, "events": events, "broken": broken}
        output.record(total | {"seconds": round(seconds, 1)})
        return
    rate = round(len(done) / seconds, 1)
    output.line(
        say(
            "simulate.total",
            seeds=len(done),
            steps=steps,
            events=events,
            seconds=round(seconds, 1),
            rate=rate,
            broken=len(broken),
        )
    )
