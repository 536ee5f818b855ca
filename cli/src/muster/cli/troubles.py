"""What the server refuses us for, in the language that is spoken. Called by failures and doctor."""

from __future__ import annotations

from muster.cli.texts import pick
from muster.domain.troubles import Trouble


def trouble_values(trouble: Trouble, text: str) -> dict[str, object]:
    """Return the values of `error.trouble` and `doctor.trouble`. text: the error's words."""
    return {
        "cause": pick(trouble.cause),
        "remedy": pick(trouble.remedy),
        "why": trouble.bare(text),
    }
