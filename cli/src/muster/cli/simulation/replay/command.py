"""`muster simulate replay`: reads the options, replays, and shows what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.session import session_of
from muster.cli.simulation.replay import capacity_files, views
from muster.cli.simulation.replay.capacity import NodeStep
from muster.cli.simulation.replay.engine import Ended, Engine
from muster.cli.simulation.replay.figures import Document, document
from muster.cli.simulation.replay.settings import Queueing, Settings, policy_with
from muster.cli.simulation.replay.workload import Cut, Workload, read, with_spot
from muster.cli.texts import say
from muster.cli.words import duration
from muster.domain.demand import QueueLimits
from muster.scheduler.core.policy import Order

KNOWN = {
    "order": tuple(Order),
    "placement": ("default", "fgd", "best_fit", "first_fit"),
}
_AUTO_QUEUE = re.compile(r"(\d{1,2})h/(\d)", re.ASCII)


def replay(  # noqa: PLR0913, PLR0917 - one option, one parameter
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help=say("argument.replay_folder"), metavar="FOLDER")],
    nodes: Annotated[Path | None, typer.Option(help=say("option.replay_nodes"))] = None,
    node_count: Annotated[
        int | None, typer.Option(help=say("option.replay_node_count"), min=1)
    ] = None,
    jobs: Annotated[int | None, typer.Option(help=say("option.replay_jobs"), min=1)] = None,
    scale_time: Annotated[
        float, typer.Option(help=say("option.scale_time"), min=0.0, metavar="X")
    ] = 1.0,
    missing_duration: Annotated[
        str | None, typer.Option("--duration", help=say("option.replay_duration"))
    ] = None,
    one_class: Annotated[bool, typer.Option("--one-class", help=say("option.one_class"))] = False,
    order: Annotated[str | None, typer.Option(help=say("option.order"))] = None,
    placement: Annotated[str | None, typer.Option(help=say("option.placement"))] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help=say("option.policy"), metavar="NAME=VALUE")
    ] = None,
    auto_queue: Annotated[str | None, typer.Option(help=say("option.auto_queue"))] = None,
    resume: Annotated[bool, typer.Option("--resume", help=say("option.replay_resume"))] = False,
    checkpoint_every: Annotated[str, typer.Option(help=say("option.checkpoint_every"))] = "1h",
    limits: Annotated[bool, typer.Option("--limits", help=say("option.limits"))] = False,
    round_every: Annotated[str | None, typer.Option(help=say("option.round_every"))] = None,
    spot_count: Annotated[int, typer.Option(help=say("option.spot_count"), min=0)] = 0,
    spot: Annotated[Path | None, typer.Option(help=say("option.spot"))] = None,
    spot_trace: Annotated[str | None, typer.Option(help=say("option.spot_trace"))] = None,
    node_events: Annotated[Path | None, typer.Option(help=say("option.node_events"))] = None,
    html: Annotated[Path | None, typer.Option(help=say("option.html"))] = None,
) -> None:
    """Print figures, and write a report if one is wanted."""
    if order == "sjf" and not limits:
        raise CliError("replay_limits")
    settings = Settings(
        policy=policy_with(_changes(policy or (), order=order, placement=placement)),
        queueing=_queueing(auto_queue, resume),
        checkpoint_s=None if checkpoint_every == "none" else duration(checkpoint_every),
        limits=limits,
        round_every_s=duration(round_every) if round_every else 0.0,
    )
    lasts = duration(missing_duration) if missing_duration else None
    cut = Cut(scale_time, jobs, node_count, lasts, one_class)
    workload = with_spot(read(folder, nodes, cut), spot_count)
    steps = _steps(workload, spot, spot_trace, node_events, scale_time)
    draws = _drawing() if html else None
    ended = Engine(workload, settings, steps).run()
    figures = document(ended, workload, settings, cut)
    if html is not None and draws is not None:
        html.write_text(draws(figures, ended), encoding="utf-8")
    if session_of(context).as_json:
        output.document(figures)
        return
    output.line(views.title(figures))
    output.show(views.figure_table(figures))
    output.line("")
    output.show(views.time_table(figures))
    if html is not None:
        output.line(say("replay.wrote", path=html))


def _changes(texts: Iterable[str], **named: str | None) -> Iterator[str]:
    """Yield all changes of the policy as texts; --order and --placement have words of their own."""
    yield from texts
    for name, value in named.items():
        if value is not None and value not in KNOWN[name]:
            raise typer.BadParameter(say("usage.choice", known=", ".join(KNOWN[name])))
        if value is not None:
            yield f"{name}={value}"


def _queueing(text: str | None, resume: bool) -> Queueing:
    if text is None or text == "off":
        return Queueing(off=text == "off", resumes=resume)
    found = _AUTO_QUEUE.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= 12 or int(found[2]) > 3:
        raise typer.BadParameter(say("usage.auto_queue"))
    limits = QueueLimits(max_queue_hours=int(found[1]), max_requeues=int(found[2]))
    return Queueing(limits, resumes=resume)


def _steps(
    workload: Workload,
    spot: Path | None,
    trace: str | None,
    events: Path | None,
    time: float,
) -> list[NodeStep]:
    steps = capacity_files.spot_steps(spot, trace, workload, time) if spot else []
    if events is not None:
        steps += capacity_files.node_events(events, workload, time)
    return steps


def _drawing() -> Callable[[Document, Ended], str]:
    """Return what writes the report; before the replay, which may take a while."""
    try:
        from muster.cli.simulation.replay.page import page  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise CliError("replay_report", what=error.name) from error
    return page
