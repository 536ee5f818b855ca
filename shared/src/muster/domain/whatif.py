"""What-ifs as people write them: `drain node-3`, `add 4 nodes like node-1`, `stop j0123`.

`read` gives values, or one violation that says where the text goes wrong and what may stand there.
What a value does to a snapshot is the scheduler's to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muster.domain.rules import violation
from muster.domain.violations import Violation

MOST = 20
"""So many what-ifs in one question."""
LONGEST = 300
MOST_NODES = 1000

FORMS = (
    "drain NODE",
    "cordon NODE",
    "uncordon NODE",
    "remove NODE",
    "add N nodes like NODE",
    "stop JOB",
)
"""Everything that may be asked."""


@dataclass(frozen=True, slots=True)
class OnNode:
    """verb: drain, cordon, uncordon or remove."""

    verb: str
    node: str


@dataclass(frozen=True, slots=True)
class AddNodes:
    """So many more nodes of the same shape as one that is there."""

    count: int
    like: str


@dataclass(frozen=True, slots=True)
class StopJob:
    """The job, by its id or name, is gone from queue and nodes."""

    job: str


WhatIf = OnNode | AddNodes | StopJob

_NODE_VERBS = ("drain", "cordon", "uncordon", "remove")
_VERBS = (*_NODE_VERBS, "add", "stop")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    at: int  # from 1


class _Wrong(Exception):
    def __init__(self, at: int, expected: str, expected_zh: str) -> None:
        super().__init__(expected)
        self.at, self.expected, self.expected_zh = at, expected, expected_zh


def read_all(texts: Sequence[str], root: str = "$.what_if") -> list[WhatIf] | list[Violation]:
    """Read every what-if; the violations of all of them if there is any."""
    if len(texts) > MOST:
        return [violation("E_WHAT_IF_MANY", root, limit=MOST)]
    found = [read(text, f"{root}[{index}]") for index, text in enumerate(texts)]
    wrong = [each for each in found if isinstance(each, Violation)]
    return wrong or [each for each in found if not isinstance(each, Violation)]


def read(text: str, path: str) -> WhatIf | Violation:
    """Read one what-if."""
    try:
        if len(text) > LONGEST:
            raise _Wrong(LONGEST + 1, "nothing more", "不应再有内容")
        return _read(_Words(text))
    except _Wrong as wrong:
        return violation(
            "E_WHAT_IF",
            path,
            at=wrong.at,
            expected=wrong.expected,
            expected_zh=wrong.expected_zh,
            forms=", ".join(FORMS),
        )


class _Words:
    """The words of a text, taken one by one."""

    def __init__(self, text: str) -> None:
        self._left = [_Word(m[0], m.start() + 1) for m in re.finditer(r"\S+", text)]
        self._end = len(text.rstrip()) + 1

    def take(self, expected: str, expected_zh: str) -> _Word:
        if not self._left:
            raise _Wrong(self._end, expected, expected_zh)
        return self._left.pop(0)

    def one_of(self, *words: str) -> str:
        listed = (", ".join(words), "、".join(words))
        word = self.take(*listed)
        if word.text.lower() not in words:
            raise _Wrong(word.at, *listed)
        return word.text.lower()

    def number(self, most: int) -> int:
        expected = (f"a number from 1 to {most}", f"1-{most} 之间的整数")
        word = self.take(*expected)
        if not re.fullmatch(r"[0-9]{1,6}", word.text) or not 1 <= int(word.text) <= most:
            raise _Wrong(word.at, *expected)
        return int(word.text)

    def over(self) -> None:
        if self._left:
            raise _Wrong(self._left[0].at, "nothing more", "不应再有内容")


def _read(words: _Words) -> WhatIf:
    verb = words.one_of(*_VERBS)
    found: WhatIf
    match verb:
        case "add":
            count = words.number(MOST_NODES)
            words.one_of("nodes", "node")
            words.one_of("like")
            found = AddNodes(count, _node(words))
        case "stop":
            found = StopJob(words.take("the id or name of a job", "任务 ID 或名称").text)
        case _:
            found = OnNode(verb, _node(words))
    words.over()
    return found


def _node(words: _Words) -> str:
    return words.take("the name of a node", "节点名称").text
