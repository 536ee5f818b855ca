"""One thing that `muster doctor` found: how bad it is, what it is, what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from muster.cli.texts import say
from muster.cli.troubles import trouble_values
from muster.domain.troubles import trouble_of


class Severity(StrEnum):
    """fine and note need nothing; a warning should be looked at; a problem must be."""

    FINE = "fine"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """key: of the texts `doctor.<key>` and, unless it is fine, `doctor.<key>.fix`."""

    key: str
    severity: Severity
    values: dict[str, object] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """What was found."""
        return say(f"doctor.{self.key}", **self.values)

    @property
    def remedy(self) -> str:
        """What to do; "" when there is nothing to do."""
        if self.severity is Severity.FINE:
            return ""
        return say(f"doctor.{self.key}.fix", **self.values)

    def document(self) -> dict[str, object]:
        """Return it for JSON."""
        return {
            "check": self.key,
            "severity": self.severity.value,
            "message": self.message,
            "remedy": self.remedy or None,
        }


def fine(key: str, **values: object) -> Finding:
    """Nothing to do."""
    return Finding(key, Severity.FINE, values)


def note(key: str, **values: object) -> Finding:
    """Worth knowing."""
    return Finding(key, Severity.NOTE, values)


def warning(key: str, **values: object) -> Finding:
    """Should be looked at."""
    return Finding(key, Severity.WARNING, values)


def problem(key: str, **values: object) -> Finding:
    """Must be looked at."""
    return Finding(key, Severity.PROBLEM, values)


def refused(key: str, why: object, **values: object) -> Finding:
    """Something does not answer: its cause with the remedy where the words tell, else `key`."""
    trouble = trouble_of(str(why))
    if trouble is None:
        return problem(key, why=why, **values)
    return problem("trouble", **trouble_values(trouble, str(why)))
