"""Which line of one worker's output is the cause, where several could be. Pure.

What the run got over is none: lines before the last completed step count only if no other does. An
exception that a traceback ends is stronger than one that is merely mentioned, and the earliest of
the strongest is the cause: what comes later follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muster.domain.diagnosis import Action, Stage
from muster.fault_tolerance.core.lines import lines
from muster.fault_tolerance.core.signs import Sign
from muster.fault_tolerance.core.stages import step_line

_EXCEPTION = re.compile(r"^\s*[\w.]*(?:Error|Exception)\b")
_DECISIVE = (
    Action.STOP,
    Action.HOLD,
    Action.CORDON,
    Action.EXCLUDE,
    Action.REQUEUE,
    Action.RETRY_ONCE,
    Action.IN_PLACE,
    Action.RETRY,
)
_UNDECIDED = len(_DECISIVE)


def root_of(told: Sequence[Sign], tail: str, stage: Stage | None, code: int | None) -> Sign | None:
    """Return the sign that is the cause in this output; None if no line of it can be."""
    roots = [s for s in told if s.root and s.rule.holds_at(stage, code)]
    if len({s.rule.id for s in roots}) < 2:
        return roots[0] if roots else None
    passed = step_line(tail)
    roots = [s for s in roots if s.hit.number > passed] or roots
    ends = _ends_of_tracebacks(tail)
    return min(roots, key=lambda s: (_weakness(s, ends), s.hit.number, decisiveness(s)))


def decisiveness(sign: Sign) -> int:
    """Return 0 for what decides most; more for less."""
    action = sign.rule.action
    return _DECISIVE.index(action) if action in _DECISIVE else _UNDECIDED


def _weakness(sign: Sign, ends: frozenset[int]) -> int:
    """Return 0 for a cause, 1 for an exception that is only mentioned, 2 for what says little."""
    if decisiveness(sign) == _UNDECIDED:
        return 3
    if sign.rule.weak:
        return 2
    mentioned = _EXCEPTION.match(sign.hit.text) and sign.hit.number not in ends
    return 1 if mentioned and ends else 0


def _ends_of_tracebacks(tail: str) -> frozenset[int]:
    """Return the numbers of the lines that end a traceback."""
    ends: set[int] = set()
    framed = False
    for line in lines(tail):
        if framed and not line.frame:
            ends.add(line.number)
        framed = line.frame
    return frozenset(ends)
