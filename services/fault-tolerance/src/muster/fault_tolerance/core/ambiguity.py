"""Whether a repetition in a pattern may split one text in very many ways. Pure.

A repetition is clear if the next character always tells which way to go: then nothing is tried
twice. Where it is not, its ways are counted. Reads the tree that `patterns` parses; upper and lower
case count as the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from re import _constants  # type: ignore[attr-defined]
from typing import Any

op = _constants

Tree = Sequence[tuple[Any, Any]]
Chars = frozenset[int]

REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT})
_OTHER = 128
"""Stands for every character beyond ASCII: all of them count as one."""
_ALL = frozenset(range(_OTHER + 1)) - frozenset(range(ord("A"), ord("Z") + 1))
_NONE: Chars = frozenset()
_CLASSES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
_KNOWN = {
    kind: frozenset(c for c in _ALL if c < _OTHER and told(chr(c)))
    for kind, told in _CLASSES.items()
}
_KNOWN |= {
    op.CATEGORY_NOT_DIGIT: _ALL - _KNOWN[op.CATEGORY_DIGIT],
    op.CATEGORY_NOT_SPACE: _ALL - _KNOWN[op.CATEGORY_SPACE],
    op.CATEGORY_NOT_WORD: _ALL - _KNOWN[op.CATEGORY_WORD],
}
_PLACES = frozenset({op.AT, op.ASSERT, op.ASSERT_NOT})
_FIXED = _PLACES | {op.ATOMIC_GROUP, op.POSSESSIVE_REPEAT}
"""What is never tried again in another way."""


def parts(kind: Any, value: Any) -> Sequence[Tree]:
    """Return the trees inside of a node."""
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind is op.ATOMIC_GROUP:
        return (value,)
    if kind in REPEATS:
        return (value[2],)
    if kind is op.BRANCH:
        return tuple(value[1])
    if kind in {op.ASSERT, op.ASSERT_NOT}:
        return (value[1],)
    return ()


def tangled(tree: Tree, most: int) -> bool:
    """Tell whether a repetition anywhere in it may go more than `most` ways over one text."""
    return any(
        (kind in REPEATS and _many(value, most))
        or any(tangled(p, most) for p in parts(kind, value))
        for kind, value in tree
    )


def _many(value: Any, most: int) -> bool:
    _, high, body = value
    if high == 1:
        return False
    begins, empty = first(body)
    return (empty or not _clear(body, begins)) and _power(_variety(body, most), high, most) > most


def _power(base: int, exponent: int, most: int) -> int:
    if base == 1:
        return 1
    return most + 1 if exponent >= most.bit_length() else min(base**exponent, most + 1)


def alike(tree: Tree, line: int) -> int:
    """Count the ways to divide a text of one character among repetitions that all take it."""
    return max(ways for _, ways in _runs(tree, (_NONE, 1), line))


def _runs(tree: Tree, before: tuple[Chars, int], line: int) -> Iterator[tuple[Chars, int]]:
    """Yield, after each node, which characters the run may be of and the ways to divide it."""
    run = before
    yield run
    for kind, value in tree:
        inside = parts(kind, value)
        if kind in REPEATS and value[0] != value[1]:
            run = _longer(run, chars(value[2]), min(int(value[1]), line) - int(value[0]))
        elif kind is op.BRANCH or kind in {op.SUBPATTERN, op.ATOMIC_GROUP}:
            ends = []
            for part in inside:
                seen = list(_runs(part, run, line))
                yield from seen
                ends.append(seen[-1])
            run = max(ends, key=lambda end: end[1])
        elif kind not in _PLACES:
            run = _longer(run, chars(((kind, value),)), 1)
        yield run


def _longer(run: tuple[Chars, int], taken: Chars, ways: int) -> tuple[Chars, int]:
    both = run[0] & taken
    return (both, run[1] * max(1, ways)) if both else (taken, max(1, ways))


def _variety(tree: Tree, most: int) -> int:
    """Count the ways through it, up to one more than `most`."""
    ways = 1
    for kind, value in tree:
        if kind in _FIXED:
            continue
        inner = [_variety(part, most) for part in parts(kind, value)]
        if kind is op.BRANCH:
            ways *= sum(inner)
        elif kind in REPEATS:
            low, high, _ = value
            ways *= min(int(high) - int(low), most) + 1
            ways *= _power(inner[0], int(high), most)
        elif inner:
            ways *= inner[0]
        ways = min(ways, most + 1)
    return ways


def _clear(tree: Tree, after: Chars) -> bool:
    """Tell whether the next character always says which way to go. after: what may follow."""
    return all(
        _clear_node(kind, value, follow_of(tree[place + 1 :], after))
        for place, (kind, value) in enumerate(tree)
    )


def _clear_node(kind: Any, value: Any, follow: Chars) -> bool:
    if kind is op.BRANCH:
        return _clear_branch(value[1], follow)
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT}:
        low, high, body = value
        begins, empty = first(body)
        if (empty and high > 1) or (low != high and begins & follow):
            return False
        return _clear(body, follow | begins if high > 1 else follow)
    if kind in {op.GROUPREF, op.GROUPREF_EXISTS}:
        return False
    return kind in _FIXED or all(_clear(part, follow) for part in parts(kind, value))


def _clear_branch(branches: Sequence[Tree], follow: Chars) -> bool:
    seen = _NONE
    for branch in branches:
        begins = follow_of(branch, follow)
        # two that take nothing are the same way twice, whatever follows
        if begins & seen or not _clear(branch, follow):
            return False
        seen |= begins
    return True


def follow_of(tree: Tree, after: Chars) -> Chars:
    """Return with which characters a text that matches this, and then something, may begin."""
    begins, empty = first(tree)
    return begins | after if empty else begins


def first(tree: Tree) -> tuple[Chars, bool]:
    """Return with which characters a match may begin, and whether it may be empty."""
    found = _NONE
    for kind, value in tree:
        begins, empty = _first_of(kind, value)
        found |= begins
        if not empty:
            return found, False
    return found, True


def _first_of(kind: Any, value: Any) -> tuple[Chars, bool]:
    single = taken(kind, value)
    if single is not None:
        return single, False
    if kind in _PLACES:
        return _NONE, True
    inner = [first(part) for part in parts(kind, value)]
    if not inner:
        return _ALL, True  # what a group has held may be anything
    begins = _NONE.union(*(chars for chars, _ in inner))
    empty = any(empty for _, empty in inner)
    return begins, empty or (kind in REPEATS and value[0] == 0)


def chars(tree: Tree) -> Chars:
    """Return every character that a match may hold."""
    found = _NONE
    for kind, value in tree:
        single = taken(kind, value)
        if single is not None:
            found |= single
        elif kind not in _PLACES:
            inside = parts(kind, value)
            found |= _NONE.union(*map(chars, inside)) if inside else _ALL
    return found


def taken(kind: Any, value: Any) -> Chars | None:
    """Return what a node that takes one character takes; None = it is no such node."""
    if kind is op.LITERAL:
        return frozenset({_code(value)})
    if kind is op.NOT_LITERAL:
        return _ALL - ({_code(value)} - {_OTHER})
    if kind is op.ANY:
        return _ALL
    return _class(value) if kind is op.IN else None


def _class(items: Tree) -> Chars:
    found: set[int] = set()
    for kind, value in items:
        if kind is op.LITERAL:
            found.add(_code(value))
        elif kind is op.RANGE:
            found.update(_code(c) for c in range(value[0], min(value[1], _OTHER) + 1))
            found.update({_OTHER} if value[1] >= _OTHER else ())
        elif kind is op.CATEGORY:
            found |= _KNOWN[value]
    if items[0][0] is op.NEGATE:
        return _ALL - (found - {_OTHER})
    return frozenset(found)


def _code(code: int) -> int:
    return ord(chr(code).lower()) if code < _OTHER else _OTHER
