"""The auto-queue table is what the services do: every combination once through the whole world.

Real services on the log in memory, in virtual time; every invariant is looked at after every step.
"""

from __future__ import annotations

import pytest

from muster.cli.simulation.auto_queue_cases import HAPPENINGS, KINDS, Happening, Kind
from muster.cli.simulation.scenario_runner import tell
from tests.sim.auto_queue_stories import story


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS])
@pytest.mark.parametrize(
    "happening", [pytest.param(each, id=f"{each.stage}: {each.event}") for each in HAPPENINGS]
)
def test_the_services_do_what_the_table_says(happening: Happening, kind: Kind) -> None:
    tell(story(happening, kind))
