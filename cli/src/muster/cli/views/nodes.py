"""Nodes: what each has, what is free, who is on it, and why it takes no work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.choosing import short
from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.words import clock
from muster.domain import usage
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.pools import PoolSummary
from muster.domain.state import JobState

_STYLES = {
    NodeCondition.READY: "green",
    NodeCondition.RECLAIMING: "magenta",
    NodeCondition.LOST: "red",
    NodeCondition.FENCED: "yellow",
    NodeCondition.GONE: "dim",
}


@dataclass(frozen=True, slots=True)
class Use:
    """A node and the jobs that hold workers there."""

    node: NodeState
    jobs: tuple[JobState, ...]
    used: usage.Use

    @property
    def free(self) -> int:
        """GPUs that new work could have."""
        return usage.free_gpus(self.node, self.used)


def uses(nodes: Iterable[NodeState], jobs: Iterable[JobState]) -> list[Use]:
    """Return every node that is there, or that still has workers, by pool and name."""
    holding = [job for job in jobs if job.held]
    found = [_use(node, holding) for node in sorted(nodes, key=lambda n: (n.pool, n.node))]
    return [use for use in found if use.jobs or use.node.condition is not NodeCondition.GONE]


def _use(node: NodeState, holding: Sequence[JobState]) -> Use:
    here = [job for job in holding if job.pool == node.pool and node.node in job.held]
    return Use(node, tuple(here), usage.total(usage.use_by(job, node.node) for job in here))


def node_table(used: Iterable[Use]) -> Table:
    """Return the table."""
    titles = ("node", "pool", "condition", "model", "gpus", "used", "free", "jobs")
    made = table(*(say(f"column.{title}") for title in titles))
    for use in used:
        shape = use.node.shape
        row(
            made,
            Text(use.node.node, "bold"),
            use.node.pool,
            _condition(use.node),
            shape.gpu_model,
            str(shape.gpus),
            _used(use),
            str(use.free),
            ", ".join(f"{job.name} ({short(job.job)})" for job in use.jobs) or "-",
        )
    return made


def _used(use: Use) -> str:
    """Return who has the GPUs: workers alone, workers together, others."""
    parts = [str(use.used.whole)]
    if use.used.cards:
        milli, cards = use.used.shared_milli / usage.CARD, len(use.used.cards)
        parts.append(say("nodes.shared", share=f"{milli:g}", cards=cards))
    if foreign := usage.foreign_gpus(use.node):
        parts.append(say("nodes.foreign", gpus=foreign))
    return " + ".join(parts)


def _condition(node: NodeState) -> Text:
    words = Text(say(f"condition.{node.condition}"), _STYLES[node.condition])
    for word in _more(node):
        words.append(f", {word}")
    return words


def _more(node: NodeState) -> Iterator[str]:
    if node.shape.spot:
        yield say("nodes.spot")
    if node.draining:
        yield say("nodes.draining")
    elif node.cordoned:
        yield say("nodes.cordoned")
    if node.excluded_until is not None:
        yield say("nodes.excluded", at=clock(node.excluded_until))
    if node.suspected:
        yield say("nodes.suspected")
    for taint in node.shape.taints:
        mark = f"{taint.key}={taint.value}" if taint.value else taint.key
        yield say("nodes.taint", taint=f"{mark}:{taint.effect}")
    if node.deadline is not None and node.condition is NodeCondition.RECLAIMING:
        yield say("nodes.until", at=clock(node.deadline))


def node_document(use: Use) -> dict[str, Any]:
    """Return a node for JSON."""
    jobs = [{"tenant": job.tenant, "job": job.job, "name": job.name} for job in use.jobs]
    counts = {
        "gpus_used": use.used.gpus,
        "gpus_shared": {str(card): milli for card, milli in use.used.cards.items()},
        "gpus_foreign": usage.foreign_gpus(use.node),
        "gpus_free": use.free,
        "schedulable": use.node.schedulable,
    }
    return use.node.model_dump(mode="json") | counts | {"jobs": jobs}


def pool_line(name: str, summary: PoolSummary) -> str:
    """Return a pool at a glance, as its last round saw it."""
    return say(
        "nodes.summary",
        pool=name,
        nodes=summary.nodes,
        gpus=summary.gpus,
        free=summary.gpus_free,
        waiting=summary.waiting,
    )
