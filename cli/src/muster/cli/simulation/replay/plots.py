"""The plots of a report, each as one piece of SVG. Needs the extra muster-cli[report].

The same input gives the same bytes. Text stays text: whoever shows it has fonts for it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from muster.cli.simulation.replay.engine import Ended
from muster.cli.simulation.replay.meters import Meters
from muster.cli.simulation.replay.series import binned, heat
from muster.cli.simulation.replay.workload import CLASSES
from muster.cli.texts import say
from muster.cli.words import plain
from muster.testing.virtual_time import START

SLICES, COLUMNS, ROWS = 800, 400, 160
LABELS = 16
"""So many rows of the heat map are named at most."""

TICKS = (1, 10, 60, 600, 3600, 21_600, 86_400, 864_000, 8_640_000)
"""Seconds at which the axis of waits is marked."""

INK, FAINT, ACCENT, SECOND = "#1f2933", "#9aa5b1", "#2f6f9f", "#c8553d"
COLOURS = {
    "guaranteed": "#2f6f9f",
    "on_demand": "#3f8f6b",
    "spot": "#c8553d",
    "idle": "#8a6fb0",
}
_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10.0,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_NAMESPACES = re.compile(r' xmlns(:\w+)?="[^"]*"')


def plots(ended: Ended) -> dict[str, str]:
    """Return name -> SVG, in the order in which they are shown."""
    until = (ended.ended_at - START).total_seconds()
    drawn = {
        "allocation": _allocation,
        "queue": _queue,
        "fragmentation": _fragmentation,
        "heat": _heat,
    }
    made = {}
    for name, draw in drawn.items():
        with mpl.rc_context({**_STYLE, "svg.hashsalt": f"muster-{name}"}):
            figure = Figure(figsize=(10, 3.4), layout="constrained")
            draw(figure, ended.meters, until)
            made[name] = _svg(figure)
    return made


def _svg(figure: Figure) -> str:
    """Return the figure as an element of a page: no prologue, no addresses."""
    file = io.StringIO()
    with warnings.catch_warnings():
        # a font that lacks a glyph only guesses its width here; the reader's has it
        warnings.simplefilter("ignore", UserWarning)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    return _NAMESPACES.sub("", _HEAD.sub("", file.getvalue()))


def _scale(until: float) -> tuple[float, str]:
    """Return the unit of the time axis, and its name."""
    if until > 3 * 86400:
        return 86400.0, say("report.axis.days")
    return 3600.0, say("report.axis.hours")


def _allocation(figure: Figure, meters: Meters, until: float) -> None:
    unit, name = _scale(until)
    bins = binned(meters.series, until, SLICES)
    at = [each.at / unit for each in bins]
    axes = figure.subplots()
    used, total = [b.used / 1000 for b in bins], [b.total / 1000 for b in bins]
    axes.fill_between(at, used, step="post", color=ACCENT, alpha=0.75, linewidth=0)
    axes.plot(at, total, color=INK, linewidth=1, label=say("report.series.total"))
    axes.plot([], [], color=ACCENT, linewidth=6, alpha=0.75, label=say("report.series.used"))
    axes.set_ylim(0, max(total, default=1) * 1.08 or 1)
    axes.set_xlim(0, max(until / unit, 1e-9))
    axes.set_xlabel(name)
    axes.set_ylabel(say("report.axis.gpus"))
    other = axes.twinx()
    waiting = [b.waiting for b in bins]
    other.plot(at, waiting, color=SECOND, linewidth=1.1)
    axes.plot([], [], color=SECOND, linewidth=1.1, label=say("report.series.waiting"))
    other.set_ylim(0, max(waiting, default=1) * 1.08 or 1)
    other.set_ylabel(say("report.axis.waiting"), color=SECOND)
    other.tick_params(axis="y", colors=SECOND)
    figure.legend(loc="outside upper right", ncols=3, frameon=False)


def _queue(figure: Figure, meters: Meters, until: float) -> None:
    """For each class the share of jobs that waited no longer than so long."""
    axes = figure.subplots()
    every = {name: _waits(meters, name) for name in CLASSES}
    edge = 1.3 * max([60.0, *(waits[-1] for waits in every.values() if waits)])
    for name, waits in every.items():
        if not waits:
            continue
        shares = [(index + 1) / len(waits) for index in range(len(waits))]
        at, shown = _thinned([max(1.0, wait) for wait in waits], shares)
        at, shown = [*at, edge], [*shown, 1.0]
        axes.step(at, shown, where="post", color=COLOURS[name], label=say(f"replay.class.{name}"))
    axes.set_xscale("log")
    axes.set_xlim(1, edge)
    ticks = [tick for tick in TICKS if tick <= edge]
    axes.set_xticks(ticks, ["≤ 1s", *(_short(tick) for tick in ticks[1:])], minor=False)
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel(say("report.axis.share_of_jobs"))
    axes.set_xlabel(say("report.axis.wait"))
    axes.grid(axis="both", color="#e4e7eb", linewidth=0.8)
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside upper right", ncols=4, frameon=False)


def _waits(meters: Meters, qos: str) -> list[float]:
    return sorted(t.queued_s for t in meters.trails.values() if t.row.qos == qos)


def _short(seconds: int) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds // unit}{name}"
    return f"{seconds}s"


def _thinned(
    xs: Sequence[float], ys: Sequence[float], most: int = 1000
) -> tuple[list[float], list[float]]:
    """Return at most about `most` of the points, the last among them."""
    step = max(1, len(xs) // most)
    places = sorted({*range(0, len(xs), step), len(xs) - 1})
    return [xs[i] for i in places], [ys[i] for i in places]


def _fragmentation(figure: Figure, meters: Meters, until: float) -> None:
    unit, name = _scale(until)
    axes = figure.subplots()
    samples = meters.fragments.samples
    at, useless = [s[0] / unit for s in samples], [100 * s[1] for s in samples]
    axes.fill_between(at, useless, step="post", color=SECOND, alpha=0.25, linewidth=0)
    axes.step(at, useless, where="post", color=SECOND, linewidth=1.2)
    axes.set_xlim(0, max(until / unit, 1e-9))
    axes.set_ylim(0, max([1.0, *useless]) * 1.1)
    axes.set_xlabel(name)
    axes.set_ylabel(say("report.axis.useless"))
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)


def _heat(figure: Figure, meters: Meters, until: float) -> None:
    unit, name = _scale(until)
    labels, shares = heat(meters.nodes, until, COLUMNS, ROWS)
    figure.set_figheight(min(9.0, 1.6 + 0.16 * len(labels)) if len(labels) > 12 else 3.4)
    axes = figure.subplots()
    axes.spines[:].set_visible(False)
    if shares:
        image: Any = axes.imshow(
            shares,
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            vmin=0,
            vmax=1,
            extent=(0, until / unit, len(labels) - 0.5, -0.5),
        )
        bar = figure.colorbar(image, ax=axes, pad=0.01, fraction=0.03)
        bar.set_label(say("report.axis.used"))
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        bar.outline.set_visible(False)
    step = max(1, -(-len(labels) // LABELS))
    places = list(range(0, len(labels), step))
    axes.set_yticks(places, [_name(labels[place]) for place in places])
    axes.set_xlabel(name)


def _name(label: str) -> str:
    """Return a node's name, short enough to stand beside a row."""
    shown = plain(label)
    return shown if len(shown) <= 32 else f"{shown[:31]}…"
