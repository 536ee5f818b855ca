"""The report of a replay: one HTML file with its plots inside, which asks no network for anything.

Names come from files of others: all text is escaped, and the page may run no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template

from muster.cli.simulation.replay import views
from muster.cli.simulation.replay.engine import Ended
from muster.cli.simulation.replay.figures import Document
from muster.cli.simulation.replay.plots import plots
from muster.cli.texts import language, say
from muster.cli.words import plain

_PAGE = Template("""<!DOCTYPE html>
<html lang="$lang">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>$title</title>
<style>
body { margin: 0 auto; max-width: 1060px; padding: 24px; color: #1f2933; background: #fff;
  font: 15px/1.5 system-ui, "Segoe UI", "PingFang SC", "Microsoft YaHei", sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 32px 0 4px; border-bottom: 1px solid #e4e7eb; padding-bottom: 4px; }
p { margin: 4px 0 12px; color: #52606d; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 16px 4px 0; border-bottom: 1px solid #e4e7eb;
  vertical-align: top; overflow-wrap: anywhere; }
th { color: #52606d; font-weight: 600; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; }
.number td:nth-child(n+3), .number th:nth-child(n+3) { text-align: right; }
</style>
</head>
<body>
<h1>$title</h1>
<p>$summary</p>
<h2>$figures_title</h2>
$figures
<h2>$times_title</h2>
$times
$plots
<h2>$settings_title</h2>
$settings
</body>
</html>
""")

_PLOT = Template("""<h2>$title</h2>
<p>$note</p>
<figure style="margin:0" id="plot-$name">
$svg
</figure>
""")


def page(figures: Document, ended: Ended) -> str:
    """Return the whole file."""
    title = say("report.title", name=plain(figures["workload"]["name"]))
    columns = ("measure", "class", "jobs", "mean", "p50", "p95", "max")
    return _PAGE.substitute(
        lang=language(),
        title=escape(title),
        summary=escape(views.title(figures)),
        figures_title=escape(say("report.figures")),
        figures=_table((), views.pairs(figures)),
        times_title=escape(say("report.times")),
        times=_table([say(f"replay.column.{c}") for c in columns], views.times(figures), "number"),
        plots="\n".join(_plot(name, svg) for name, svg in plots(ended).items()),
        settings_title=escape(say("report.settings")),
        settings=_table(
            [say("report.setting"), say("report.value")], views.settings(figures), "settings"
        ),
    )


def _plot(name: str, svg: str) -> str:
    title, note = say(f"report.{name}"), say(f"report.note.{name}")
    return _PLOT.substitute(title=escape(title), note=escape(note), name=name, svg=svg)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    head = f"<tr>{''.join(f'<th>{escape(title)}</th>' for title in titles)}</tr>" if titles else ""
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(plain(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f'<table class="{kind}">\n{head}\n{body}\n</table>'
