"""What a world raises when something that must always hold does not."""

from __future__ import annotations


class Violation(AssertionError):
    """A broken invariant. subject: the job or node concerned, "" when it is none."""

    def __init__(self, invariant: str, text: str, subject: str = "") -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant, self.text, self.subject = invariant, text, subject
