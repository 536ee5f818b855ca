"""A twist really does what its name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.cli.simulation.scenario_acts import watch
from muster.cli.simulation.scenario_files import read
from muster.cli.simulation.scenario_runner import tellings
from muster.cli.simulation.scenario_stage import Stage
from muster.domain.pools import EpochTaken
from muster.testing.steady import advance

STORY = """\
area: trial
scenarios:
  - title: One job runs
    timing_dependent: true
    given:
      nodes: {n1: 8}
      jobs: {v: {state: later}}
    then: [{at: 5, jobs: {v: {phase: running}}}]
"""


def told(folder: Path, name: str) -> tuple[Stage, int]:
    """Tell the story under a twist; returns its stage, and where the twist began in the log."""
    (folder / "trial.yaml").write_text(STORY, "utf-8")
    scenario = read(folder / "trial.yaml").scenarios[0]
    (twist,) = [each for each in tellings(scenario) if each.name == name]
    stage = Stage(scenario.given)
    watch(stage.world)
    stage.set_up()
    begun = len(stage.world.store.entries)
    twist.begin(stage)
    stage.submit("v")
    advance(stage.world, 30.0)
    return stage, begun


@pytest.mark.parametrize(
    ("name", "services"),
    [
        ("everything restarts after each event", ("admission", "requeue", "executor")),
        ("every writer dies after each event it writes", ("admission", "executor")),
    ],
)
def test_services_live_several_lives(tmp_path: Path, name: str, services: tuple[str, ...]) -> None:
    stage, _ = told(tmp_path, name)
    state = stage.job("v")
    assert state is not None
    assert state.phase == "running"
    for service in services:
        assert all(process.lives > 1 for process in stage.world.named(service))


def test_another_leader_takes_the_epoch_after_each_event(tmp_path: Path) -> None:
    stage, begun = told(tmp_path, "another leader after each event")
    new = stage.world.store.entries[begun:]
    epochs = [e for e in new if e.event and isinstance(e.event.data.detail, EpochTaken)]
    assert len([e for e in epochs if e.subject.startswith("pools.")]) >= 3
