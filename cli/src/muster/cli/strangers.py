"""Names in a request that the pool does not have: it is accepted, for they may come, and said.

A typing error in a share or in a block list would otherwise never be noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from muster.cli import output
from muster.cli.session import Session
from muster.cli.texts import say
from muster.contracts.requests import Answer
from muster.domain.nodes import NodeCondition, NodeState

MOST_NAMES = 10

Named = Mapping[str, Sequence[str]]
"""What kind of name ("gpu_model", "zone", "node") -> names of it."""


def strangers(pool: str, named: Named, nodes: Iterable[NodeState]) -> list[str]:
    """Return a warning for each kind of which a pool does not have all these names."""
    there = [n for n in nodes if n.pool == pool and n.condition is not NodeCondition.GONE]
    has = {
        "gpu_model": {n.shape.gpu_model for n in there if n.shape.gpus},
        "zone": {n.shape.zone for n in there},
        "node": {n.node for n in there},
    }
    found = ((kind, sorted({*names} - has[kind])) for kind, names in named.items())
    return [
        say(f"stranger.{kind}", pool=pool, names=", ".join(names), has=_listed(has[kind]))
        for kind, names in found
        if names
    ]


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    if not shown:
        return say("stranger.none")
    more = len(shown) - MOST_NAMES
    text = ", ".join(shown[:MOST_NAMES])
    return say("stranger.more", names=text, count=more) if more > 0 else text


def show(session: Session, answer: Answer, done: str, warnings: Sequence[str]) -> None:
    """Show a request that was accepted, and what was odd about it."""
    if session.as_json:
        output.document(answer.model_dump(mode="json") | {"warnings": list(warnings)})
        return
    output.line(done)
    for warning in warnings:
        output.line((warning, "yellow"), stderr=True)
