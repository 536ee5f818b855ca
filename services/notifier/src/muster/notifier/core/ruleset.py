"""Every rule in force, found by what happened: an event costs the same with ten thousand. Pure.

Rules about jobs are filed by tenant, trigger and the handle of their scope, so an event meets only
those that may want it; rules about machines, which are few, by trigger alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from muster.domain.state import JobState
from muster.notifier.core.notice import OF_THE_FLEET, Trigger
from muster.notifier.core.rules import Handle, Rule, Telling, handles_of

_Place = tuple[str, Trigger, Handle]


class RuleSet:
    """The rules that are switched on."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._of_jobs: dict[_Place, list[Rule]] = defaultdict(list)
        self._of_machines: dict[Trigger, list[Rule]] = defaultdict(list)
        for rule in rules:
            if not rule.enabled:
                continue
            if rule.trigger in OF_THE_FLEET:
                self._of_machines[rule.trigger].append(rule)
            else:
                self._of_jobs[rule.tenant, rule.trigger, rule.scope.handle].append(rule)

    def for_job(self, state: JobState, told: Iterable[Telling]) -> list[Rule]:
        """Return the rules that may be told any of this about a job, by id."""
        handles = set(handles_of(state))
        found = (
            rule
            for trigger, _ in told
            for handle in handles
            for rule in self._of_jobs.get((state.tenant, trigger, handle), ())
        )
        return sorted(found, key=lambda rule: rule.id)

    def for_machines(self, trigger: Trigger) -> list[Rule]:
        """Return the rules of every tenant that may be told of this."""
        return self._of_machines.get(trigger, [])
