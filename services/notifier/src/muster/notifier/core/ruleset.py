"""Every rule in force, found by what happened: an event costs the same with ten thousand. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from muster.notifier.core.notice import OF_THE_FLEET, Trigger
from muster.notifier.core.rules import Rule, Telling


class RuleSet:
    """Rules by tenant and trigger; those about machines by trigger alone."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: dict[tuple[str, Trigger], list[Rule]] = defaultdict(list)
        for rule in rules:
            if rule.enabled:
                self._rules[_place(rule.tenant, rule.trigger)].append(rule)

    def for_job(self, tenant: str, told: Iterable[Telling]) -> list[Rule]:
        """Return the rules that may be told of any of this."""
        return [
            rule for trigger, _ in told for rule in self._rules.get(_place(tenant, trigger), ())
        ]

    def for_machines(self, trigger: Trigger) -> list[Rule]:
        """Return the rules of every tenant that may be told of this."""
        return self._rules.get(_place("", trigger), [])


def _place(tenant: str, trigger: Trigger) -> tuple[str, Trigger]:
    return ("" if trigger in OF_THE_FLEET else tenant), trigger
