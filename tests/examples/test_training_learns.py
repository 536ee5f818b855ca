"""The example learns, in one process as in four, and says so in lines that a parser can read."""

import re
from pathlib import Path

import pytest

from tests.examples.training_gang import REPORT, gang_of, run_gang

STEPS = 60


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """The loss at each step of one worker."""
    directory = tmp_path_factory.mktemp("alone")
    return run_gang(1, directory, f"--steps={STEPS}", "--report-every=1").losses


def test_the_loss_falls_clearly(tmp_path: Path) -> None:
    rank = run_gang(1, tmp_path, "--steps=200", "--report-every=40")
    losses = list(rank.losses.values())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 3
    assert float(rank.output.rpartition("accuracy=")[2].split()[0]) > 0.9


@pytest.mark.parametrize("world_size", [2, 4])
def test_workers_together_learn_what_one_learns_alone(
    world_size: int, alone: dict[int, float], tmp_path: Path
) -> None:
    together = run_gang(world_size, tmp_path, f"--steps={STEPS}", "--report-every=1").losses
    assert list(together) == list(range(1, STEPS + 1))
    assert together == pytest.approx(alone, abs=1e-6)


def test_another_seed_is_another_training(alone: dict[int, float], tmp_path: Path) -> None:
    other = run_gang(1, tmp_path, "--steps=1", "--seed=1", "--report-every=1").losses
    assert other[1] != pytest.approx(alone[1], abs=1e-3)


def test_lines_have_the_form_that_parsers_expect(tmp_path: Path) -> None:
    rank = run_gang(1, tmp_path, "--steps=25", "--report-every=10", "--checkpoint-every=20")
    reports = [line for line in rank.output.splitlines() if REPORT.search(line)]
    form = re.compile(
        r"step=\d+ loss=\d\.\d{6} lr=0\.\d{6} samples/s=\d+ accuracy=[01]\.\d{4}", re.ASCII
    )
    assert [line for line in reports if not form.fullmatch(line)] == []
    assert list(rank.losses) == [10, 20, 25]
    assert "training: rank=0 world_size=1 attempt=1 steps=25 seed=0" in rank.output
    assert f"checkpoint saved: step=20 path={tmp_path}" in rank.output


def test_only_rank_0_reports(tmp_path: Path) -> None:
    with gang_of(2, tmp_path) as gang:
        gang.start_all("--steps=5", "--report-every=1")
        assert gang.exit_codes() == {0: 0, 1: 0}
        assert list(gang.ranks[0].losses) == [1, 2, 3, 4, 5]
        assert not gang.ranks[1].losses


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (["--checkpoint-every=0"], {}),
        (["--step-time=-1"], {}),
        ([], {"RANK": "3"}),
    ],
)
def test_nonsense_is_refused_before_the_start(
    options: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    with gang_of(1, tmp_path) as gang:
        assert gang.start(0, *options, **environment).exit_code() == 2
        assert "training:" not in gang.ranks[0].output
