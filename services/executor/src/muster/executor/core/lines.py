"""What one line of output tells of a training's progress, in the words of the usual frameworks.

Pure: a line in, an observation or None out. A line is at most LINE characters (what is longer is
cut off), and every pattern begins with words of its own, so that no line can take long.
The job's own forms (`ProgressSpec`) come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.spec import ProgressSpec
from muster.domain.templates import Template, template
from muster.executor.core.declared import Declarations, Declared
from muster.executor.core.masking import masked

LINE = 1000
SHOWN = 160
"""Characters of a line that an event carries."""


class Kind(StrEnum):
    """What a line tells."""

    LOADED = "loaded"
    SAVED = "saved"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class Told:
    """One observation. step: None where a loaded checkpoint does not say which it is.

    counter: which counter a step is of. Only steps of one counter are compared. over: it is the
    last one that this counter can reach.
    """

    kind: Kind
    step: int | None
    counter: str = ""
    over: bool = False


OWN, STEPS, EPOCHS, BAR = "own", "steps", "epochs", "bar"
"""Counters, the most trustworthy first; of progress bars each total is a counter of its own."""

_N = r"(\d{1,15})(?!\d)"
_PATH_STEP = rf"(?:step[=_-]?|checkpoint-|iter_0*){_N}"

_LOADED = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"\b(?<!no )checkpoint loaded: step={_N}",
        rf"\bsuccessfully loaded checkpoint from .* at iteration +{_N}",  # Megatron
        rf"\[Torch\] Loaded checkpoint from .*/global_step{_N}",  # DeepSpeed
        rf"\bContinuing training from global step {_N}",  # HF Trainer
        rf"\bRestored all states from the checkpoint (?:file )?at .*?\bstep={_N}",  # Lightning
        r"\bRestored all states from the checkpoint (?:file )?at ",
        rf"\b(?:resuming|resumed) (?:training )?(?:from|at) [^|]*?\b(?:step|iteration)[ =:]+{_N}",
        rf"=> loaded checkpoint '[^']*?{_PATH_STEP}",  # scripts after PyTorch's examples
        r"=> loaded checkpoint '",
    )
)
_SAVED = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"\bcheckpoint saved: step={_N}",
        rf"\bsuccessfully saved checkpoint (?:from|at) iteration +{_N}",  # Megatron
        rf"\[Torch\] Checkpoint global_step{_N} is ready now",  # DeepSpeed
        rf"\bSaving model checkpoint to \S*checkpoint-{_N}",  # HF Trainer
        rf"\bglobal step {_N}: [^|]*\bsaving model to ",  # Lightning
        rf"=> saved checkpoint '[^']*?{_PATH_STEP}",
    )
)

_EPOCH_BRACKETS = re.compile(
    rf"\bEpoch:? \[(\d{{1,9}})(?:/\d{{1,9}})?\],?(?: Step)? ?\[ {{0,9}}{_N}/ {{0,9}}(\d{{1,15}})\]"
)
_EPOCH_BAR = re.compile(rf"^Epoch (\d{{1,9}}): +\d{{1,3}}%\|[^|]*\| {_N}/(\d{{1,15}}) ")
_BAR = re.compile(
    rf"^(?: *|(?:Train\w{{0,8}}|Steps?|Iterations?): +)\d{{1,3}}%\|[^|]*\| *{_N}/(\d{{1,15}}) \["
)
_STEP = re.compile(
    r"(?:(?<![\w./-])(?<!per )(?:global[_ ]?step|step|iteration|iter)|(?<=/)global_step(?==))"
    rf"[\"']?(?: {{0,4}}[=:]| )[ \[]{{0,12}}{_N}(?![\w%]|\.\d|:\D*$)",
    re.IGNORECASE,
)
_HINTS = ("step", "iter", "checkpoint", "epoch", "%|")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Reader:
    """Reads lines of one job. own: what its specification names."""

    def __init__(self, own: ProgressSpec | None = None) -> None:
        own = own or ProgressSpec()
        self._loaded = tuple(map(template, own.checkpoint_loaded))
        self._saved = tuple(map(template, own.checkpoint_saved))
        self._steps = tuple(map(template, own.step))
        self._has_own = bool(self._loaded or self._saved or self._steps)
        self._declarations = Declarations(own)

    def read(self, line: str) -> Told | None:
        """Return what a line tells; a checkpoint's line is none of a step."""
        text = _ESCAPES.sub("", line[:LINE])
        if self._has_own and (told := self._in_own_words(text)) is not None:
            return told
        low = text.lower()
        if not any(hint in low for hint in _HINTS):
            return None
        return next(self._known(text, low), None)

    def declared(self, line: str) -> Declared | None:
        """Return the phase that a line declares, beside what it tells."""
        return self._declarations.read(_ESCAPES.sub("", line[:LINE]))

    def _in_own_words(self, text: str) -> Told | None:
        kinds = (
            (self._loaded, Kind.LOADED, ""),
            (self._saved, Kind.SAVED, ""),
            (self._steps, Kind.STEP, OWN),
        )
        for templates, kind, counter in kinds:
            found, step = _first(templates, text)
            if found:
                return Told(kind, step, counter)
        return None

    def _known(self, text: str, low: str) -> Iterator[Told]:
        for patterns, kind in ((_LOADED, Kind.LOADED), (_SAVED, Kind.SAVED)):
            for pattern in patterns:
                if found := pattern.search(text):
                    yield Told(kind, int(found[1]) if pattern.groups else None)
        if not self._steps and "checkpoint" not in low:
            for read in _COUNTERS:
                if (told := read(text)) is not None:
                    yield told


def _first(templates: tuple[Template, ...], text: str) -> tuple[bool, int | None]:
    for each in templates:
        found, step = each.find(text)
        if found:
            return True, step
    return False, None


def _epochs(text: str) -> Told | None:
    """A step within an epoch, as examples of PyTorch and Lightning's bar tell it."""
    found = _EPOCH_BAR.search(text) or _EPOCH_BRACKETS.search(text)
    if found is None:
        return None
    step = int(found[2])
    if step == 0 and found.re is _EPOCH_BAR:
        return None
    return Told(Kind.STEP, int(found[1]) * int(found[3]) + step, EPOCHS)


def _bar(text: str) -> Told | None:
    """A bare progress bar; it stands at 0 before it is moved to where the training goes on."""
    found = _BAR.search(text)
    if found is None or (step := int(found[1])) == 0:
        return None
    total = int(found[2])
    return Told(Kind.STEP, step, f"{BAR}:{total}", step >= total)


def _steps(text: str) -> Told | None:
    found = _STEP.search(text)
    return Told(Kind.STEP, int(found[1]), STEPS) if found else None


_COUNTERS: tuple[Callable[[str], Told | None], ...] = (_epochs, _bar, _steps)


def trust(counter: str) -> tuple[int, int]:
    """Return the order of counters, the best first; of bars the one with the largest total."""
    name, _, total = counter.partition(":")
    return (OWN, STEPS, EPOCHS, BAR).index(name), -int(total or 0)


def shown(line: str) -> str:
    """Return a line as an event may carry it: one line, short, nothing that looks like a secret."""
    plain = "".join(c if c.isprintable() else " " for c in _ESCAPES.sub("", line[:LINE]))
    text = " ".join(masked(plain).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
