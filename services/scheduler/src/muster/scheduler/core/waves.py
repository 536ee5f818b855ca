"""A gang that needs more to leave than one batch can say: they are told in waves, round by round.

Nobody is told before the whole way is found, lawful and placed on paper. What it gains is kept for
the gang from the first wave on, as a reservation that nobody shares (`keeping`). Each round finds
the rest of the way anew, who leaves already costs nothing; once it fits one batch, the gang is
placed as any other. So nothing is remembered but what the log says anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.rank import entered
from muster.scheduler.core.rights import Bid
from muster.scheduler.core.victims import Candidate, Exit, Search, Way

if TYPE_CHECKING:
    from muster.scheduler.core.round import Round


def is_long(made: Round, way: Way) -> bool:
    """Tell whether no batch can say a way whole."""
    return len(way.candidates) >= made.policy.max_decisions


def keep(made: Round, job: Listed, way: Way) -> bool:
    """Keep the room of a way that is gone in waves; False if room is kept for somebody else."""
    begun = _begun(made, job)
    if begun is None and not is_long(made, way):
        return False
    waits = frozenset(one.key for one in way.candidates)
    return made.keeper.keep(job, way.placement, waits, begun or made.snapshot.now)


def _begun(made: Round, job: Listed) -> datetime | None:
    """Return since when others have been leaving for a job while it is in the queue."""
    return made.rights.evicted_since(job.key, entered(job.state))


def go(made: Round, job: Listed, way: Way, bid: Bid) -> Search:
    """Tell as many to leave as this round and the limit of evictions allow."""
    if not keep(made, job, way):
        return Search.CUT
    victims = _wave(made, way, made.policy.max_decisions - made.size)
    causes = made.rights.causes(job.state, victims, bid)
    told = zip(victims, causes, strict=True)
    if not made.rights.may_evict_so_many(c for one, c in told if one.exit is Exit.EVICTED):
        return Search.LIMITED
    for decision in made.send_off(victims, job, causes):
        made.decide(decision)
    return Search.BEGUN


def _wave(made: Round, way: Way, room: int) -> Sequence[Candidate]:
    """Return who is told now: those of whole nodes, so that the next round will build on these.

    Those of a part of a node only where a whole round is too small for all of it.
    """
    found: dict[JobKey, Candidate] = {}
    for there in sorted(_by_node(made, way), key=len):
        more = {one.key: one for one in there if one.key not in found}
        if len(found) + len(more) > room:
            whole = found or room < made.policy.max_decisions
            return list(found.values()) if whole else there[:room]
        found |= more
    return list(found.values())


def _by_node(made: Round, way: Way) -> Sequence[Sequence[Candidate]]:
    """Return the victims of each node of the placement."""
    on: dict[str, list[Candidate]] = {node: [] for node in sorted(way.placement)}
    for one in way.candidates:
        if one.exit is not Exit.LEAVES_ANYWAY:
            for node in one.nodes:
                on.setdefault(node, []).append(one)
    return list(on.values())
