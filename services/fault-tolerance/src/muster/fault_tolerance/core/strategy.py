"""Which failures the user's restarts are for: the strategies of the product. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from muster.domain.demand import UNCONDITIONAL, Demand, FaultStrategy


def limit_of(demand: Demand) -> int:
    """Return the user's restarts; 0 = fault tolerance is off."""
    if demand.restart_strategy is FaultStrategy.ALWAYS:
        return min(demand.max_restarts, UNCONDITIONAL)
    return demand.max_restarts


def covers(demand: Demand, exit_code: int | None, seen: Collection[str]) -> bool:
    """Tell whether the user wants a restart after this exit, with these keywords in the output."""
    match demand.restart_strategy:
        case FaultStrategy.ALWAYS:
            return True
        case FaultStrategy.LOG_KEYWORDS:
            return any(keyword in seen for keyword in demand.restart_keywords)
        case FaultStrategy.ON_FAILURE | FaultStrategy.EXIT_CODES:
            ranges = demand.restart_exit_codes
            named = exit_code is not None and any(a <= exit_code <= b for a, b in ranges)
            return named or not ranges


def keywords_in(tails: Iterable[str], keywords: Collection[str]) -> frozenset[str]:
    """Return the keywords that stand in the output of any worker, as they are written."""
    wanted = set(keywords)
    seen: set[str] = set()
    for tail in tails:
        seen |= {keyword for keyword in wanted - seen if keyword in tail}
    return frozenset(seen)
