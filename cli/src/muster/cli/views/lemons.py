"""Nodes that failures point at: how often, how surely, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.words import moment
from muster.contracts.judgements import NodeRating, NodeRatings

RULES = 3


def lemon_table(rows: Iterable[NodeRating]) -> Table:
    """Return every rated node, the surest first."""
    titles = ("node", "pool", "jobs", "users", "rate", "bounds", "rules", "exclusions", "proposal")
    made = table(*(say(f"column.{title}") for title in titles))
    for each in rows:
        row(
            made,
            Text(each.node, "bold"),
            each.pool,
            str(each.jobs),
            str(each.users),
            f"{each.rate:.0%}",
            f"{each.low:.0%} - {each.high:.0%}",
            ", ".join(f"{rule} {count}" for rule, count in each.rules[:RULES]) or "-",
            str(each.exclusions),
            _proposal(each),
        )
    return made


def suspect_table(rows: Iterable[NodeRating]) -> Table:
    """Return nodes under suspicion or kept out, and why."""
    titles = ("node", "pool", "state", "why", "proposal")
    made = table(*(say(f"column.{title}") for title in titles))
    for each in rows:
        why = pick((each.why, each.why_zh)) or "-"
        row(made, Text(each.node, "bold"), each.pool, _state(each), why, _proposal(each))
    return made


def fleet_line(ratings: NodeRatings) -> str:
    """Return what the nodes are held against."""
    return say("lemons.fleet", rate=f"{ratings.fleet:.1%}", nodes=ratings.rated)


def held_lines(rows: Iterable[NodeRating]) -> Iterator[str]:
    """Yield what keeps suspected nodes from being kept out."""
    for each in rows:
        if each.held:
            yield say("lemons.held", node=each.node, why=pick((each.held, each.held_zh)))


def is_suspect(row: NodeRating) -> bool:
    """Tell whether something is held against a node now."""
    return row.suspected or row.excluded_until is not None or bool(row.why) or row.proposed


def _state(each: NodeRating) -> Text:
    if each.excluded_until is not None:
        return Text(say("lemons.excluded", at=moment(each.excluded_until)), "red")
    if each.cordoned:
        return Text(say("nodes.cordoned"), "yellow")
    return Text(say("nodes.suspected"), "magenta")


def _proposal(each: NodeRating) -> Text:
    if not each.proposed:
        return Text("-", "dim")
    return Text(f"muster node cordon {each.node} --pool {each.pool}", "yellow")
