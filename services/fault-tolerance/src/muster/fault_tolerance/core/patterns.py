"""What a regular expression surely contains, and whether it could take very long. Pure.

Both are read from the tree that the standard library parses a pattern into. It is not public, so
it is used in this file alone; what does not come out of it as expected makes a rule invalid, never
a rule that is missed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from muster.fault_tolerance.core.ambiguity import Tree, alike, op, parts, tangled

SHORTEST = 3
"""Characters that a literal needs, to be worth a search."""
STEPS = 100_000
"""Ways in which a pattern may be tried from one place of a line."""
_LINE = 4096
_OPTIONS = 24
_BROAD = frozenset({op.CATEGORY_NOT_SPACE, op.CATEGORY_NOT_DIGIT})


@lru_cache(maxsize=4)
def _parsed(pattern: str, flags: int) -> Tree:
    """Parse a pattern once for all questions about it."""
    return tuple(_parser.parse(pattern, flags))


def literals(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Return texts, in lower case, of which every match contains at least one; () = none known."""
    return _best(_parsed(pattern, flags))


def _best(tree: Tree) -> tuple[str, ...]:
    """Return the choice that is least likely to stand in an innocent line."""
    found: list[tuple[str, ...]] = []
    run = ""
    for kind, value in (*tree, (op.AT, None)):
        if kind is op.LITERAL:
            run += chr(value).lower()
            continue
        if run:
            found.append((run,))
            run = ""
        found.append(_inside(kind, value))
    return max((c for c in found if c), key=_worth, default=())


def _inside(kind: Any, value: Any) -> tuple[str, ...]:
    if kind is op.SUBPATTERN:
        return _best(value[3])
    if kind is op.ATOMIC_GROUP:
        return _best(value)
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        return _best(value[2]) if value[0] else ()
    if kind is not op.BRANCH:
        return ()
    branches = [_best(branch) for branch in value[1]]
    return tuple(sorted({text for b in branches for text in b})) if all(branches) else ()


def _worth(choice: Sequence[str]) -> tuple[bool, bool, int, int]:
    shortest = min(map(len, choice))
    return shortest >= SHORTEST, len(choice) <= _OPTIONS, min(shortest, 8), -len(choice)


def danger(pattern: str, flags: int = 0) -> str | None:
    """Return the construct that could take very long on a hostile line, in words; None = safe."""
    tree = _parsed(pattern, flags)
    if tangled(tree, STEPS):
        return "(…{1,n}){1,n}, (a|ab){1,n}"
    return _nested(tree, repeated=False) or _many(tree)


def _nested(tree: Tree, *, repeated: bool) -> str | None:
    """Find a repetition without end inside of another: the time grows beyond any bound."""
    for kind, value in tree:
        endless = kind in {op.MAX_REPEAT, op.MIN_REPEAT} and value[1] is op.MAXREPEAT
        if endless and repeated:
            return "(…+)+"
        for inner in parts(kind, value):
            found = _nested(inner, repeated=repeated or endless)
            if found:
                return found
    return None


def _many(tree: Tree) -> str | None:
    steps = _ways(tree)
    if steps > STEPS:
        return f".*…[^x]{{0,n}}… ({steps} > {STEPS})"
    steps = alike(tree, _LINE)
    return f"a{{1,n}}a{{1,n}}… ({steps} > {STEPS})" if steps > STEPS else None


def _ways(tree: Tree) -> int:
    ways, most = 1, 1
    for kind, value in tree:
        tried = ways * _ways_of(kind, value)
        most = max(most, tried)
        # what only looks ahead is tried once for each way so far, and never again
        ways = ways if kind in {op.ASSERT, op.ASSERT_NOT} else tried
    return most


def _ways_of(kind: Any, value: Any) -> int:
    inner = [_ways(part) for part in parts(kind, value)]
    ways = (sum(inner) if kind is op.BRANCH else max(inner, default=1)) or 1
    endless = kind in {op.MAX_REPEAT, op.MIN_REPEAT} and value[1] is op.MAXREPEAT
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT} and _wide(value[2], words=endless):
        most = _LINE if endless else int(value[1])
        return ways * max(1, most - int(value[0]))
    return ways


def _wide(tree: Tree, *, words: bool) -> bool:
    """Tell whether a piece takes nearly any character: only then do repetitions overlap.

    words: letters count as nearly any; a long line may consist of them alone.
    """
    broad = _BROAD | {op.CATEGORY_WORD} if words else _BROAD
    for kind, value in tree:
        if kind in {op.ANY, op.NOT_LITERAL}:
            return True
        if kind is op.IN and any(k is op.NEGATE or v in broad for k, v in value):
            return True
        if any(_wide(part, words=words) for part in parts(kind, value)):
            return True
    return False


def compiled(pattern: str, flags: int) -> re.Pattern[str]:
    """Compile a pattern as all rules are. Letters and digits are ASCII's. Raises re.error."""
    return re.compile(pattern, flags | re.ASCII)
