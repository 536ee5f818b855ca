"""How much one round may do, by counts: so that its time is bounded and its plan is not.

What is cut is reached by the rounds that follow. They sweep: those before the place where a sweep
goes on get half of the work and no search for victims, and the first there is sure of its turn. So
a sweep comes to its end.
"""

from __future__ import annotations

from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.round import Round


class Budget:
    """Of one plan. sweeping: the place where the sweep goes on is not reached yet."""

    def __init__(self, made: Round) -> None:
        self._round, self._policy = made, made.policy
        self.attempts = self.searches = 0
        self.sweeping = False
        self._sure: JobKey | None = None

    def begin(self, *, sweeping: bool) -> None:
        """Begin a pass through the queue."""
        self.sweeping, self._sure = sweeping, None

    def resume(self) -> None:
        """Note that the place is reached where the sweep goes on."""
        self.sweeping = False

    def may_attempt(self, job: JobKey) -> bool:
        """Tell whether the round has work left to try a job against the nodes."""
        share = 2 if self.sweeping else 1
        attempts = self.attempts * share < self._policy.max_attempts
        return self._is_sure(job) or (attempts and self._has_looks(share))

    def may_search(self, job: JobKey) -> bool:
        """Tell whether the round has work left to look for victims."""
        searches = self.searches < self._policy.max_searches
        return not self.sweeping and searches and (self._is_sure(job) or self._has_looks(1))

    def _has_looks(self, share: int) -> bool:
        return self._round.looks * share < self._policy.max_looks

    def _is_sure(self, job: JobKey) -> bool:
        if self.sweeping:
            return False
        self._sure = self._sure or job
        return job == self._sure
