"""Every scenario of this folder, as it is written and, where timing matters, in every other way."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.cli.simulation.scenario_files import books
from muster.cli.simulation.scenario_runner import tell, tellings

FOLDER = Path(__file__).parent

STORIES = {
    f"{path.stem}-{number:02}-{scenario.case or 'own'}": scenario
    for path, book in books(FOLDER)
    for number, scenario in enumerate(book.scenarios, 1)
}
TIMED = [name for name, scenario in STORIES.items() if scenario.timing_dependent]


@pytest.mark.parametrize("name", STORIES)
def test_a_scenario_ends_as_it_says(name: str) -> None:
    tell(STORIES[name])


@pytest.mark.timeout(400)  # some thirty tellings
@pytest.mark.parametrize("name", TIMED)
def test_a_scenario_ends_the_same_however_it_is_told(name: str) -> None:
    for twist in list(tellings(STORIES[name]))[1:]:
        tell(STORIES[name], twist)
