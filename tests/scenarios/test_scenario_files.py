"""A file of scenarios that is wrong is told apart by file, story, field and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.cli.simulation.scenario import Book
from muster.cli.simulation.scenario_files import BadScenario, read
from muster.cli.simulation.scenario_runner import Differs, tell, tellings
from muster.cli.simulation.scenario_table import page

STORY = """\
area: trial
scenarios:
  - title: One job runs
    given:
      nodes: {n1: 8}
      jobs: {v: {}}
    when: [{at: 0, do: relabel, job: v, with: {labels: {team: a}}}]
    then:
      - at: 5
        jobs: {v: {phase: running, on: [n1]}}
"""


def book(folder: Path, old: str = "", new: str = "") -> Book:
    path = folder / "trial.yaml"
    path.write_text(STORY.replace(old, new) if old else STORY, "utf-8")
    return read(path)


def test_a_story_is_read_and_told(tmp_path: Path) -> None:
    tell(book(tmp_path).scenarios[0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("phase: running", "phase: flying", "then.0.jobs.v.phase"),
        ("phase: running", "fase: running", "remove it, or correct its name"),
        ("do: relabel", "do: dance", "choose one of these for `do`"),
        ("job: v, with", "job: w, with", "job 'w' is not in `given`; there are: v"),
        ("at: 5", "at: soon", "change the value 'soon'"),
        ("jobs: {v: {}}", "jobs: {v: {gpus: '8'}}", "given.jobs.v.gpus"),
        ("  - title: One job runs\n    given", "  - given", "title: Field required; add it"),
        ("area: trial\n", "", "field area: Field required; add it"),
        ("at: 5", "at: 2030-01-01", "write dates and other special values in quotes"),
        ("area: trial", "area: [", "check indentation and quotes"),
    ],
)
def test_an_error_names_the_place_and_the_remedy(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(BadScenario) as caught:
        book(tmp_path, old, new)
    assert "trial.yaml" in str(caught.value)
    assert said in str(caught.value)


def test_a_story_that_ends_otherwise_says_how_and_what_happened(tmp_path: Path) -> None:
    story = book(tmp_path, "phase: running", "phase: queued").scenarios[0]
    with pytest.raises(Differs) as caught:
        tell(story)
    assert "v: phase is 'running', expected 'queued'" in str(caught.value)
    assert "started" in str(caught.value)


def test_a_timed_story_is_told_in_every_way(tmp_path: Path) -> None:
    title = "title: One job runs"
    story = book(tmp_path, title, f"{title}\n    timing_dependent: true").scenarios[0]
    names = [twist.name for twist in tellings(story)]
    assert names == [
        "as written",
        "every request, event and alarm doubled",
        "every consumer reads the newest first",
        "every event is read after the one behind it",
        "every writer dies after each event it writes",
        "everything restarts after each event",
        "another leader after each event",
        "the server's clock steps an hour ahead at 2.5",
        "the server's clock steps an hour back at 2.5",
        "everything restarts after relabel at 0",
        "another leader after relabel at 0",
    ]


def test_the_page_of_cases_is_up_to_date() -> None:
    root = Path(__file__).parent.parent.parent
    text = (root / "docs" / "reference" / "cases.md").read_text("utf-8")
    assert page(Path(__file__).parent) in text, "run `make docs`"
