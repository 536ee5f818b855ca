"""Phases in which a training says that it makes no steps: it saves, evaluates or loads.

Pure: a line in, the phase that begins or OVER out, or None. As in `lines`: patterns begin with
words of their own, so that no line takes long, and the job's own forms come first.
"""

from __future__ import annotations

import re
from enum import StrEnum

from muster.domain.spec import ProgressSpec
from muster.domain.templates import template


class Declared(StrEnum):
    """What a line declares. over: whatever it was, it has ended."""

    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    LOADING = "loading"
    OVER = "over"


_BEFORE = r"^(?:.{0,80}?[\])}|>:;-] *|\s*)"
"""What may stand before a sentence: a time, a level, a module; nothing that is a sentence too."""

_KNOWN = tuple(
    (re.compile(text, re.IGNORECASE), declared)
    for text, declared in (
        (
            r"\b(?:evaluation|validation|eval|checkpoint|checkpointing|loading) "
            r"(?:is |has )?(?:finished|done|completed?|ended|over)\b",
            Declared.OVER,
        ),
        (r"[\"']?\beval_loss[\"']?\s*[:=]", Declared.OVER),  # HF Trainer
        (r"\bvalidation loss at iteration\b", Declared.OVER),  # Megatron
        (rf"{_BEFORE}saving (?:the |model )?checkpoint\b(?!.*\bfailed)", Declared.CHECKPOINT),
        (r"\[Torch\] Saving \S*global_step", Declared.CHECKPOINT),  # DeepSpeed
        (
            rf"{_BEFORE}checkpoint(?:ing)? (?:begins?|began|start(?:s|ed|ing)?)\b",
            Declared.CHECKPOINT,
        ),
        (r"\*{3,} Running (?:Evaluation|Prediction|training eval)\b", Declared.EVALUATION),
        (
            rf"{_BEFORE}(?:running|starting|started|beginning|begin) (?:the )?"
            r"(?:evaluation|validation|eval)\b",
            Declared.EVALUATION,
        ),
        (
            rf"{_BEFORE}(?:evaluation|validation|eval) (?:begins?|began|start(?:s|ed|ing)?)\b",
            Declared.EVALUATION,
        ),
        (rf"{_BEFORE}evaluating (?:on|iter)\b", Declared.EVALUATION),
        (r"^ *Validat(?:ing|ion)(?: DataLoader \d{1,4})?: +\d{1,3}%\|", Declared.EVALUATION),
        (r"^ *Evaluating: +\d{1,3}%\|", Declared.EVALUATION),
        (
            rf"{_BEFORE}(?:loading|restoring) (?:the |model |a )?"
            r"(?:checkpoint|weights|dataset|data)\b",
            Declared.LOADING,
        ),
    )
)
_HINTS = ("eval", "valid", "checkpoint", "saving", "load", "restor")


class Declarations:
    """Reads lines of one job. own: what its specification names."""

    def __init__(self, own: ProgressSpec | None = None) -> None:
        own = own or ProgressSpec()
        forms = (
            (own.over, Declared.OVER),
            (own.saving, Declared.CHECKPOINT),
            (own.evaluating, Declared.EVALUATION),
            (own.loading, Declared.LOADING),
        )
        self._own = tuple((template(text), kind) for texts, kind in forms for text in texts)

    def read(self, text: str) -> Declared | None:
        """Return what a line declares."""
        for form, declared in self._own:
            if form.find(text)[0]:
                return declared
        low = text.lower()
        if not any(hint in low for hint in _HINTS):
            return None
        return next((declared for known, declared in _KNOWN if known.search(text)), None)
