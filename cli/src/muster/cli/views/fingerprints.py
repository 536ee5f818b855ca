"""Failures that no rule knows: how many, since when, where, and how their output ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.words import moment, plain
from muster.contracts.judgements import FingerprintCluster

LINES = 3
NODES = 4


def cluster_table(clusters: Iterable[FingerprintCluster]) -> Table:
    """Return the table."""
    titles = ("fingerprint", "failures", "jobs", "users", "first", "last", "nodes")
    made = table(*(say(f"column.{title}") for title in titles))
    for each in clusters:
        row(
            made,
            Text(plain(each.fingerprint), "bold"),
            str(each.failures),
            str(each.jobs),
            str(each.users),
            moment(each.first_at),
            moment(each.last_at),
            ", ".join(each.nodes[:NODES]) + (" ..." if len(each.nodes) > NODES else ""),
        )
    return made


def cluster_lines(clusters: Iterable[FingerprintCluster]) -> Iterator[str]:
    """Yield the end of the output of each; it is data, and loses what could steer a terminal."""
    for each in clusters:
        yield f"{plain(each.fingerprint)}:"
        lines = [line for line in each.excerpt.splitlines() if line.strip()]
        for line in lines[-LINES:] or [say("fingerprints.silent")]:
            yield f"  {plain(line)}"
