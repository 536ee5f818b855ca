"""Long random lives from a seed: every event that may follow, with particulars that hurt.

Shorter walks of one seed are beginnings of longer ones, so that a failing one shrinks to its cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.edges import EDGES, IllegalEdge
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from tests.domain.making import make
from tests.support.lives import START, auto_queue, spec

CALM = frozenset({"shared", "relabelled", "prioritised", "respecified", "signalled", "released"})
"""What may happen nearly anywhere and changes little."""
ENDS = frozenset(
    {
        "succeeded",
        "declined",
        "queue_timed_out",
        "not_requeued",
        "failed",
        "stop_requested",
        "archived",
        "escalated",
    }
)
"""What ends or parks a life."""

SPECS: tuple[JobSpec, ...] = (
    spec(),
    spec(auto_queue=auto_queue(1, 3)),
    spec(resource={"type": "idle", "replicas": 3, "stability_level": "high"}),
    spec(resource={"type": "reserved", "replicas": 2}, max_runtime_s=600),
    spec(type="rayjob", debug={"enabled": True, "hold_seconds": 60}, labels={"团队": "a b"}),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a life. before: None for the first."""

    before: JobState | None
    fact: f.Fact
    at: datetime
    after: JobState


def walk(seed: int, length: int) -> list[Step]:
    """A life of so many events, or fewer if it ends for good."""
    rng = Random(seed)
    job = rng.choice(SPECS)
    first = f.Submitted(
        tenant="acme",
        job="j1",
        user="ann",
        pool="default",
        request="r-j1",
        digest="d",
        spec=job,
        demand=job.demand(),
    )
    steps = [Step(None, first, START, evolve(None, first, START))]
    while len(steps) < length:
        following = _next(steps[-1], rng)
        if following is None:
            break
        steps.append(following)
    return steps


def _next(last: Step, rng: Random) -> Step | None:
    state = last.after
    at = last.at + timedelta(seconds=rng.choice((0, 0.001, 7, 40, 4000)))
    if state.terminal and rng.random() < 0.3:
        return None
    for event in _by_chance(state, rng):
        if event == "archived" and state.held:  # the gateway waits for the release
            continue
        fact = make(event, state, rng)
        try:
            return Step(state, fact, at, evolve(state, fact, at))
        except IllegalEdge:
            continue
    return None


def _by_chance(state: JobState, rng: Random) -> list[str]:
    if state.phase is Phase.SUBMITTED:
        return ["admitted"]
    events = [event for event, edge in EDGES.items() if state.phase in edge.sources]
    return sorted(events, key=lambda event: -(rng.random() ** (1 / _weight(event, state))))


def _weight(event: str, state: JobState) -> float:
    if event == "released" and state.phase is Phase.EVICTING:
        return 1.0
    if event in ENDS:
        return 0.2
    return 0.25 if event in CALM else 1.0


WALKS = st.builds(walk, seed=st.integers(0, 2**32), length=st.integers(1, 60))
