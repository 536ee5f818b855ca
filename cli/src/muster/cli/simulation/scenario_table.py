"""The page docs/reference/cases.md: which case of the case bank is told by which scenario or test.

A test that tells a case is marked with `pytest.mark.case`, one that tells the same fault in another
place with `pytest.mark.sibling_of`. Called by scripts/generate_docs.py.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_files import BadScenario, books

INTRO = """\
The case bank numbers failures that systems of our kind really had. Each file of `tests/scenarios`
tells some of them again with our services, in virtual time; every invariant is checked after every
step. A story that is marked *every way* is also told with every request, event and alarm doubled,
with the newest message read first, with neighbouring steps swapped and every event read after the
one behind it, with every writer killed after each event that it writes, and with everything
restarted, or another leader, after each event and after each step, and with the server's clock an
hour ahead or back: its end must be the same.
Where a story cannot be told in virtual time a test on the real server tells it."""


def page(folder: Path) -> str:
    """Return the page below its introduction."""
    told = [(path, story) for path, book in books(folder) for story in book.scenarios]
    marked = list(_marked(folder.parent))
    cases, tests = _by_case(told), [mark for mark in marked if mark.kind == "case"]
    missing = _elsewhere(folder / "elsewhere.txt")
    here = cases.keys() | {mark.case for mark in tests}
    if both := sorted(here & missing.keys()):
        raise BadScenario(f"elsewhere.txt: {', '.join(both)} is told here; remove the line")
    count = (
        f"{len(cases)} of {len(here | missing.keys())} cases are told here,"
        f" {len(here - cases.keys())} by tests of their own."
    )
    blocks = (
        count,
        "## Told here",
        _table(("case", "story", "file", "every way"), _rows(cases)),
        "## Told by tests of their own",
        _table(("case", "test", "file"), sorted(mark.row for mark in tests)),
        "## Siblings",
        "The same kind of fault in another place, for each case that would do the most harm.",
        _table(("sibling of", "story or test", "file", "every way"), _siblings(told, marked)),
        "## Decisions of the life cycle",
        _table(("decision", "story", "file", "every way"), _rows(_by_decision(told))),
        "## Stories of our own",
        _table(("story", "file", "every way"), (row[1:] for row in _rows(_own(told)))),
        "## Not told here",
        _table(("case", "what goes wrong", "where instead, or why not"), _why(missing)),
    )
    return "\n\n".join(blocks)


Told = Iterable[tuple[Path, Scenario]]
Found = Mapping[str, list[tuple[Path, Scenario]]]


def _by_case(told: Told) -> Found:
    found: dict[str, list[tuple[Path, Scenario]]] = defaultdict(list)
    for path, story in told:
        for case in story.cases:
            found[case].append((path, story))
    return found


def _by_decision(told: Told) -> Found:
    found: dict[str, list[tuple[Path, Scenario]]] = defaultdict(list)
    for path, story in told:
        if story.decision:
            found[f"D{int(story.decision[1:]):02}"].append((path, story))
    return found


def _own(told: Told) -> Found:
    return {
        "": [(p, s) for p, s in told if not s.cases and not s.decision and s.sibling_of is None]
    }


def _siblings(told: Told, marked: Iterable[Mark]) -> list[tuple[str, ...]]:
    stories = [
        (s.sibling_of, s.title, path.name, "yes" if s.timing_dependent else "")
        for path, s in told
        if s.sibling_of
    ]
    return sorted([*stories, *((*m.row, "") for m in marked if m.kind == "sibling_of")])


@dataclass(frozen=True, slots=True)
class Mark:
    """A test that says which case it tells."""

    kind: str
    case: str
    test: str
    file: str

    @property
    def row(self) -> tuple[str, str, str]:
        """As a line of a table."""
        return self.case, self.test.removeprefix("test_").replace("_", " "), self.file


def _marked(tests: Path) -> Iterator[Mark]:
    """Yield the marks of every test, read from its source."""
    for path in sorted((*tests.rglob("test_*.py"), *tests.rglob("*_suite.py"))):
        text = path.read_text("utf-8")
        if "pytest.mark.case" in text or "pytest.mark.sibling_of" in text:
            name = str(path.relative_to(tests.parent))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from _of_test(node, name)


def _of_test(test: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Iterator[Mark]:
    for mark in test.decorator_list:
        match mark:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="pytest"), attr="mark"),
                    attr="case" | "sibling_of" as kind,
                ),
                args=cases,
            ):
                for case in cases:
                    yield Mark(kind, ast.literal_eval(case), test.name, file)


def _rows(found: Found) -> Iterator[tuple[str, ...]]:
    for key in sorted(found):
        for path, story in found[key]:
            yield key, story.title, path.name, "yes" if story.timing_dependent else ""


def _elsewhere(path: Path) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            case, what, why = (part.strip() for part in line.split("|"))
            found[case] = (what, why)
    return found


def _why(missing: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    for case in sorted(missing):
        yield (case, *missing[case])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell for cell in line) + " |" for line in lines)
