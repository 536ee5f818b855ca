"""Everything that a verdict depends on, and the words for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muster.domain.diagnosis import Diagnosis
from muster.domain.reasons import Reason, ReasonCode, advised, reason
from muster.domain.state import JobState
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.strategy import limit_of


@dataclass(frozen=True, slots=True)
class Case:
    """seen: which of the job's keywords stand in its output. silent: so many nodes went silent at
    once that none may be taken for dead."""

    state: JobState
    failure: Failure
    diagnosis: Diagnosis
    cause: Cause
    now: datetime
    seen: frozenset[str] = frozenset()
    silent: bool = False

    @property
    def limit(self) -> int:
        """The user's restarts; 0 = fault tolerance is off."""
        return limit_of(self.state.demand)

    @property
    def progressed(self) -> bool:
        """Whether a step was reached that no attempt had reached when the one before failed."""
        known, told = self.state.faults, self.state.progress
        reached = max(self.failure.step or 0, told.step if told else 0)
        return known is not None and reached > known.step

    @property
    def again(self) -> int:
        """How often the same failure came before in a row without progress."""
        known = self.failure.faults
        if known is None or known.fingerprint != self.diagnosis.fingerprint:
            return 0
        return 0 if self.progressed else known.count

    @property
    def key(self) -> str:
        """What chance is taken from."""
        return f"{self.state.tenant}/{self.state.job}/{self.state.attempt}"

    def says(self, code: ReasonCode, **values: object) -> Reason:
        """Return a reason with the cause in words, and the advice where there is one."""
        what, advice = self.cause.what, self.diagnosis.advice
        said = reason(code, why=what.en.rstrip("."), why_zh=what.zh.rstrip("。"), **values)
        return advised(said, advice.en, advice.zh) if advice else said
