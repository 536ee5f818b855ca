"""The page docs/reference/cases.md: which case of the case bank is told by which scenario.

Called by scripts/generate_docs.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_files import BadScenario, books

INTRO = """\
The case bank numbers failures that systems of our kind really had. Each file of `tests/scenarios`
tells some of them again with our services, in virtual time; every invariant is checked after every
step. A story that is marked *every way* is also told with every request and event doubled, with
the newest message read first, with neighbouring steps swapped, with every writer killed after each
event that it writes, with everything restarted after each step, and with another leader after each
step: its end must be the same."""

NO_SHARES = "D7, guaranteed shares with borrowing, is not told: tenants have no quotas yet."


def page(folder: Path) -> str:
    """Return the page below its introduction."""
    told = [(path, story) for path, book in books(folder) for story in book.scenarios]
    cases = _by_case(told)
    missing = _elsewhere(folder / "elsewhere.txt")
    both = sorted(cases.keys() & missing.keys())
    if both:
        raise BadScenario(f"elsewhere.txt: {', '.join(both)} is told here; remove the line")
    count = f"{len(cases)} of {len(cases) + len(missing)} cases are told here."
    blocks = (
        count,
        "## Told here",
        _table(("case", "story", "file", "every way"), _rows(cases)),
        "## Decisions of the life cycle",
        _table(("decision", "story", "file", "every way"), _rows(_by_decision(told))),
        NO_SHARES,
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
    return {"": [(path, s) for path, s in told if not s.cases and not s.decision]}


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
