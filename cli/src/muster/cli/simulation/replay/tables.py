"""Reads CSV files strictly: every cell that breaks a rule is named by file, line and column.

Knows columns and kinds of cells, nothing of jobs or nodes. Used by `workload`.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from muster.cli.catalogue import TEXTS
from muster.cli.errors import CliError, Refusal
from muster.cli.words import plain
from muster.domain.violations import Violation

T = TypeVar("T")

MOST_FAULTS = 20
"""So many are told at once; a file of another kind breaks a rule in each line."""

LONGEST = 40
"""So much of a cell is shown of what a file says; what this program says is never cut."""


@dataclass(slots=True)
class Faults:
    """What is wrong with a set of files. Raised together by `check`."""

    found: list[Violation] = field(default_factory=list)

    def note(self, place: str, rule: str, /, **values: object) -> None:
        """Note a broken rule: `replay.rule.<rule>` says what it is, and what to do.

        value: what stands in the file; it alone is shortened.
        """
        english, chinese = TEXTS[f"replay.rule.{rule}"]
        shown = {name: plain(str(value)) for name, value in values.items()}
        if "value" in shown:
            shown["value"] = _shortened(shown["value"])
        self.found.append(
            Violation(
                code=f"REPLAY_{rule.upper()}",
                path=place,
                en=english.format_map(shown),
                zh=chinese.format_map(shown),
            )
        )

    @property
    def are_enough(self) -> bool:
        """Whether to stop reading."""
        return len(self.found) >= MOST_FAULTS

    def check(self) -> None:
        """Raise Refusal if anything is wrong."""
        if self.found:
            raise Refusal("replay_tables", self.found[:MOST_FAULTS], count=len(self.found))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table. number: in the file, from 1, the header included."""

    table: Table
    number: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return a cell without blanks around it; "" where the table has no such column."""
        return (self.cells.get(column) or "").strip()

    def fault(self, column: str, rule: str, /, **values: object) -> None:
        """Note that a cell breaks a rule."""
        self.table.faults.note(self.place(column), rule, **values)

    def place(self, column: str) -> str:
        """Return where a cell stands."""
        return f"{self.table.path}:{self.number}:{column}"

    def needed(self, column: str) -> str:
        """Return a cell that must not be empty."""
        found = self.text(column)
        if not found:
            self.fault(column, "empty")
        return found

    def number_in(self, column: str, low: float, high: float, default: float | None) -> float:
        """Return a number; default: for an empty cell, None = it must not be empty."""
        found = self.text(column)
        if not found and default is not None:
            return default
        try:
            value = float(found)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            self.fault(column, "number", low=f"{low:g}", high=f"{high:g}", value=found)
            return default if default is not None else low
        return value

    def whole_in(self, column: str, low: int, high: int, default: int | None) -> int:
        """Return a whole number; "8" and "8.0" are both eight."""
        before = len(self.table.faults.found)
        value = self.number_in(column, low, high, default)
        if value != int(value) and len(self.table.faults.found) == before:
            self.fault(column, "whole", low=low, high=high, value=self.text(column))
        return int(value)

    def one_of(self, column: str, known: Mapping[str, T], default: T) -> T:
        """Return what a word means; an empty cell means `default`."""
        found = self.text(column)
        if found and found not in known:
            self.fault(column, "word", known=", ".join(known), value=found)
        return known.get(found, default)


class Table:
    """A CSV file with a header."""

    def __init__(
        self, path: Path, needed: Sequence[str], optional: Sequence[str], faults: Faults
    ) -> None:
        self.path, self.faults = path, faults
        self._needed, self._known = needed, (*needed, *optional)

    def lines(self) -> Iterator[Line]:
        """Yield the lines after the header. Faults of the file itself are noted too."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                yield from self._lines(csv.reader(file, strict=True))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise CliError("replay_file", path=self.path, why=plain(str(error))) from error

    def _lines(self, rows: Iterator[list[str]]) -> Iterator[Line]:
        header = [cell.strip() for cell in next(rows, [])]
        if not self._is_usable(header):
            return
        reader = rows
        for number, cells in enumerate(reader, start=2):
            if self.faults.are_enough:
                return
            if not cells:
                continue
            if len(cells) != len(header):
                self.faults.note(
                    f"{self.path}:{number}", "cells", need=len(header), have=len(cells)
                )
                continue
            yield Line(self, number, dict(zip(header, cells, strict=True)))

    def _is_usable(self, header: Sequence[str]) -> bool:
        before, place = len(self.faults.found), f"{self.path}:1"
        if not any(header):
            self.faults.note(place, "header", columns=", ".join(self._needed))
            return False
        for name in self._needed:
            if name not in header:
                self.faults.note(f"{place}:{name}", "missing", columns=", ".join(self._needed))
        for index, name in enumerate(header):
            if name in header[:index]:
                self.faults.note(f"{place}:{_shortened(plain(name))}", "twice")
            elif name not in self._known:
                self.faults.note(
                    f"{place}:{_shortened(plain(name))}", "unknown", known=", ".join(self._known)
                )
        return len(self.faults.found) == before


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
