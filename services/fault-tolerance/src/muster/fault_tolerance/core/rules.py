"""The rules as they are applied: texts in, hits out. Pure; the rules themselves are data.

A rule says what one line means; `diagnosis` weighs the hits of many lines and sources. Nothing here
reads a file: `rulebook` does, through `ruleset`, which checks the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from muster.domain.diagnosis import Action, Advice, Blame, Kind, Stage
from muster.domain.evidence import Scope
from muster.fault_tolerance.core.lines import Line, lines
from muster.fault_tolerance.core.prefilter import Prefilter, prefilter


class Role(StrEnum):
    """What a line can tell.

    root: it may be the cause. confirm: it supports another candidate. cascade: it follows from what
    another did, and may name that peer. teardown: it comes after the end, and is never a cause.
    """

    ROOT = "root"
    CONFIRM = "confirm"
    CASCADE = "cascade"
    TEARDOWN = "teardown"


_READS = {
    Scope.POD: {Scope.POD, Scope.EVENT},
    Scope.NODE: {Scope.NODE, Scope.EVENT},
    Scope.EVENT: {Scope.EVENT, Scope.POD, Scope.NODE},
}
"""Rules of which scopes read a text, where more than those of its own: a cluster says the same of a
pod in its status and in an event, and of a node in a condition and in an event."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. what: what it means, in words; its field is not used.

    literals: every match contains one of them (in lower case). unless: no line that this matches,
    too. codes: numbers that the group `code`
    of the pattern must be one of; empty = any. stages: only of a failure in one of these; empty =
    any. exit_codes: only if the worker ended with one of these; empty = any. alone: whose failure
    it is if one node of a gang shows it and no other does, though all share what it speaks of.
    weak: says so little that any other root is to be preferred. shadow: counted, never decides.
    """

    id: str
    scope: Scope
    role: Role
    blame: Blame
    kind: Kind
    action: Action
    pattern: re.Pattern[str]
    literals: tuple[str, ...]
    what: Advice
    advice: Advice | None = None
    unless: re.Pattern[str] | None = None
    codes: frozenset[int] = frozenset()
    stages: frozenset[Stage] = frozenset()
    exit_codes: frozenset[int] = frozenset()
    alone: Blame | None = None
    weak: bool = False
    shadow: bool = False
    group: str = ""
    note: str = ""
    examples: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()

    def holds_at(self, stage: Stage | None, exit_code: int | None = None) -> bool:
        """Tell whether it may speak of a failure at this stage, with this exit code.

        What is not known rules nothing out.
        """
        early = not self.stages or stage is None or stage in self.stages
        return early and (not self.exit_codes or exit_code is None or exit_code in self.exit_codes)


@dataclass(slots=True)
class Hit:
    """A line that a rule matched.

    number: of the line in the text, from 1. at: the time at its start. peer: worker, rank or host
    that the line names. code: the number that it names (an XID, an exit code).
    """

    rule: Rule
    text: str
    number: int
    at: datetime | None = None
    peer: str | None = None
    code: int | None = None


@dataclass(frozen=True)
class Rulebook:
    """A set of rules. version: semantic version and a hash of the content."""

    version: str
    rules: tuple[Rule, ...]
    _shelves: dict[Scope, tuple[tuple[Rule, ...], Prefilter]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Sort the rules by scope and literal."""
        shelves = {
            scope: _shelf(r for r in self.rules if r.scope in _READS.get(scope, {scope}))
            for scope in Scope
        }
        object.__setattr__(self, "_shelves", shelves)

    def rule(self, rule_id: str) -> Rule | None:
        """Return the rule of that name."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def read(self, scope: Scope, text: str, near: datetime | None = None) -> list[Hit]:
        """Return what the rules of a scope find in the end of a text, in order of lines.

        near: about when the text was written, for stamps that leave out the year.
        """
        rules, literals = self._shelves[scope]
        if not rules or not text:
            return []
        told = [line for line in lines(text, near) if not line.frame and line.text]
        called = literals.called([line.text.lower() for line in told])
        return [
            hit
            for index, places in called
            for hit in _hits([rules[place] for place in places], told[index])
        ]


def _shelf(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], Prefilter]:
    # what says little comes last on a line, what does not decide after what does
    ordered = tuple(sorted(rules, key=lambda rule: (rule.weak, rule.shadow)))
    return ordered, prefilter(rule.literals for rule in ordered)


def _hits(rules: Iterable[Rule], line: Line) -> Iterator[Hit]:
    told = False
    for rule in rules:
        if (told and rule.weak) or (line.late and rule.role is not Role.TEARDOWN):
            continue
        hit = _hit(rule, line)
        if hit is not None:
            told = told or not rule.shadow
            yield hit


def _hit(rule: Rule, line: Line) -> Hit | None:
    found = rule.pattern.search(line.text)
    if found is None or (rule.unless and rule.unless.search(line.text)):
        return None
    named = found.groupdict()
    code = named.get("code")
    number = int(code) if code and code.isdecimal() else None
    if rule.codes and number not in rule.codes:
        return None
    peers = (value for name, value in named.items() if name.startswith("peer"))
    peer = next((value for value in peers if value), None)
    return Hit(rule, line.text, line.number, line.at, peer, number)
