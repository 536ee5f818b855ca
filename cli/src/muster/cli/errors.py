"""What goes wrong in a way that a person can act on: one line, a remedy, an exit code.

Everything else that is raised is a fault of ours and is shown as such by `main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muster.cli.exits import Exit
from muster.cli.texts import say

if TYPE_CHECKING:
    from muster.domain.violations import Violation


class CliError(Exception):
    """key: the text of `error.<key>`; its remedy is `error.<key>.fix` where there is one."""

    def __init__(self, key: str, exit_code: Exit = Exit.FAILED, /, **values: object) -> None:
        super().__init__(say(f"error.{key}", **values))
        self.code = key
        self.exit_code = exit_code
        self.fix = say(f"error.{key}.fix", **values)


class Refusal(CliError):
    """A request or a file breaks rules; every violation is listed."""

    def __init__(self, key: str, violations: Sequence[Violation], /, **values: object) -> None:
        super().__init__(key, Exit.FAILED, **values)
        self.violations = tuple(violations)
