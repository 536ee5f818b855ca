"""Which lines hold a literal that calls for a rule: all other lines are never searched. Pure.

Hundreds of literals are looked for in every tail, and nearly none of them is there. Each has a part
that is a plain word; the words of a tail are few, so nearly all literals are ruled out by one look
at these. What is left is looked for in the whole tail at once, not line by line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

_WORD = re.compile("[a-z]+")


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Literals by a word that is part of each ("" = none is), with the places that each calls."""

    words: Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]]

    def called(self, lines: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
        """Yield the lines that hold a literal, by index, each with the places called for.

        lines: in lower case.
        """
        text = "\n".join(lines)
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        called: dict[int, set[int]] = {}
        for literal, places in self._present(text):
            found = text.find(literal)
            while found >= 0:
                index = bisect_right(starts, found) - 1
                called.setdefault(index, set()).update(places)
                found = text.find(literal, starts[index + 1])
        for index in sorted(called):
            yield index, sorted(called[index])

    def _present(self, text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        vocabulary = " ".join(set(_WORD.findall(text)))
        for word, literals in self.words.items():
            if word in vocabulary:
                yield from literals


def prefilter(literals: Iterable[Iterable[str]]) -> Prefilter:
    """Make one of the literals of each place."""
    calls: dict[str, list[int]] = {}
    for place, texts in enumerate(literals):
        for text in texts:
            calls.setdefault(text, []).append(place)
    words: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for text, places in calls.items():
        word = max(_WORD.findall(text), key=len, default="")
        words.setdefault(word, []).append((text, tuple(places)))
    return Prefilter({word: tuple(found) for word, found in words.items()})
