"""A short name for a failure, the same each time that it happens again. Pure.

Made of what stays the same between two runs: the rule, the type of the exception, the innermost
frame of the program's own code, its message without numbers, paths and addresses, and the stage.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from muster.domain.diagnosis import Stage
from muster.fault_tolerance.core.lines import Line, lines
from muster.fault_tolerance.core.stages import tells_step

LENGTH = 12
_MESSAGE = 160

_REPLACED = (
    (
        re.compile(
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
        ),
        "<id>",
    ),
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s'\")\]]+", re.IGNORECASE), "<url>"),
    (
        re.compile(
            r"(?:\[[0-9a-f:]{3,39}\]|\b\d{1,3}(?:\.\d{1,3}){3}\b)(?::\d+|<\d+>)?", re.IGNORECASE
        ),
        "<address>",
    ),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"(?<![\w<])~?(?:/[\w.@%+=:-]+){2,}/?|(?<![\w<])/[\w.-]+\.\w+"), "<path>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "<n>"),
    (re.compile(r"\s+"), " "),
)
_FRAME = re.compile(r'\s*File "(?P<path>[^"]+)", line \d+(?:, in (?P<name>\S+))?')
_FOREIGN = re.compile(r"(?:site|dist)-packages/|/lib/python\d|<frozen |<string>|/runpy\.py")
_RAISED = re.compile(r"(?P<type>[A-Za-z_][\w.]{2,120}?)(?:: (?P<message>.*))?$")
_TELLING = re.compile(
    r"error|exception|fail|fatal|abort|killed|denied|cannot|unable", re.IGNORECASE
)


def normalised(line: str) -> str:
    """Return a line without what differs between two runs: numbers, paths, ids, addresses."""
    for pattern, sign in _REPLACED:
        line = pattern.sub(sign, line)
    return line.strip()


def fingerprint(rule_id: str | None, tail: str, stage: Stage | None) -> str:
    """Name a failure by the rule that decides it, the end of its output and its stage."""
    told = list(lines(tail))
    kind, frame, message = _raised(told) or ("", "", _last(told))
    parts = (rule_id or "", kind, frame, normalised(message)[:_MESSAGE], stage or "")
    return hashlib.blake2s("\n".join(parts).encode(), digest_size=LENGTH // 2).hexdigest()


def _raised(told: Iterable[Line]) -> tuple[str, str, str] | None:
    """Return type, innermost frame of its own and message of the last exception, if there is one.

    What an interpreter raises while it shuts down is none.
    """
    last: tuple[str, str, str] | None = None
    own, traced = "", False
    for line in told:
        if line.late:
            continue
        if line.frame:
            traced = True
            own = _own(line.text, own)
            continue
        raised = _RAISED.match(line.text)
        if traced and raised:
            last = (raised["type"].rpartition(".")[2], own, raised["message"] or "")
        own, traced = "", False
    return last


def _own(text: str, before: str) -> str:
    """Return the frame that a line of a traceback tells, if it is of the program's own code."""
    found = _FRAME.match(text)
    if found is None or _FOREIGN.search(found["path"]):
        return before
    return f"{found['path'].rpartition('/')[2]}:{found['name'] or ''}"


def _last(told: Iterable[Line]) -> str:
    """Return the last line that speaks of something wrong, or simply the last that is no step."""
    texts = [line.text for line in told if not line.late]
    other = next((t for t in reversed(texts) if not tells_step(t)), "")
    return next((t for t in reversed(texts) if _TELLING.search(t)), other)
