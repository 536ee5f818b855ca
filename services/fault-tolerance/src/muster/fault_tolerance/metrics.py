"""What fault tolerance counts. Labels are bounded: ids of rules, and the names below."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter, Gauge

SHADOW_HITS = Counter(
    "muster_fault_shadow_hits", "Failures that a rule in shadow would have spoken of", ["rule"]
)
RULES = Gauge("muster_fault_rules", "Rules in force, by their state", ["state"])
RULE_FAULTS = Gauge(
    "muster_fault_rule_faults",
    "Faults in the site's rules; while there are any, the last good hold",
)


def show_rules(deciding: int, shadow: int, faults: int) -> None:
    """Show how many rules are in force, and how many faults keep newer ones out."""
    RULES.labels("deciding").set(deciding)
    RULES.labels("shadow").set(shadow)
    RULE_FAULTS.set(faults)


def count_shadows(rules: Iterable[str]) -> None:
    """Count each rule in shadow once for a failure; called with `Diagnosis.shadow`."""
    for rule in set(rules):
        SHADOW_HITS.labels(rule).inc()
