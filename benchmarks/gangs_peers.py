"""What other schedulers did with the same workloads on a machine with two cores.

Measured once each (five times for preemption) with everything on that machine: etcd without fsync,
API server, controllers, pretended nodes, and the client. Times are from just before the first
creation to the last bound pod of a gang.
"""

from __future__ import annotations

from collections.abc import Mapping

NATIVE, COSCHEDULING = "kube-scheduler 1.36 gangs", "Coscheduling"
KUEUE, VOLCANO, KAI = "Kueue + kube-scheduler", "Volcano", "KAI"

GANGS_PER_S: Mapping[tuple[str, int], Mapping[str, float]] = {
    ("b1", 125): {NATIVE: 17.0, COSCHEDULING: 18.6, KUEUE: 11.8, VOLCANO: 12.5, KAI: 3.3},
    ("b2", 125): {NATIVE: 15.3, COSCHEDULING: 21.1, KUEUE: 2.8, VOLCANO: 4.5, KAI: 2.3},
    ("b1", 1000): {NATIVE: 13.4, COSCHEDULING: 13.5, KUEUE: 10.1, VOLCANO: 9.1},
    ("b2", 1000): {NATIVE: 13.9, COSCHEDULING: 17.3, KUEUE: 7.7, VOLCANO: 11.4},
}

P99_MS: Mapping[tuple[str, int], Mapping[str, float]] = {
    ("b1", 125): {NATIVE: 3700, COSCHEDULING: 3300, KUEUE: 8100, VOLCANO: 7800, KAI: 27400},
    ("b2", 125): {NATIVE: 790, COSCHEDULING: 660, KUEUE: 5300, VOLCANO: 3300, KAI: 6200},
    ("b1", 1000): {NATIVE: 4800, COSCHEDULING: 5500, KUEUE: 9700, VOLCANO: 10800},
    ("b2", 1000): {NATIVE: 6600, COSCHEDULING: 3300, KUEUE: 15600, VOLCANO: 10700},
}

PREEMPTION_MS: Mapping[str, float] = {NATIVE: 570, KUEUE: 1360, KAI: 1850, VOLCANO: 3170}
"""Median of five until the high gang is bound, the victims being gone by then."""

TOUCHED: Mapping[str, int] = {NATIVE: 4, KUEUE: 4, KAI: 4, VOLCANO: 14}

BEHIND_UNFIT: Mapping[str, str] = {
    "kube-scheduler 1.36 gangs": "not within 60 s",
    KUEUE: "not within 60 s",
}


def beside(case: str, nodes: int) -> dict[str, object]:
    """Return the peers' figures for a case, as fields of its line; empty where there are none."""
    found: dict[str, object]
    match case:
        case "b1" | "b2":
            found = {
                "peer_gangs_per_s": GANGS_PER_S.get((case, nodes)),
                "peer_p99_ms": P99_MS.get((case, nodes)),
            }
        case "preempt":
            found = {"peer_bound_p50_ms": PREEMPTION_MS, "peer_gangs_touched": TOUCHED}
        case "behind_unfit":
            found = {"peer": BEHIND_UNFIT}
        case _:
            found = {}
    return {name: value for name, value in found.items() if value}
