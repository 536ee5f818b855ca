"""A training that was stopped and started again is the training that was never stopped."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from tests.examples.training_gang import Launcher, gang_of, run_gang

STEPS = 60
WATCHED = (f"--steps={STEPS}", "--report-every=1", "--checkpoint-every=10")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, float], Path]:
    """The loss at each step, and the last checkpoint."""
    directory = tmp_path_factory.mktemp("uninterrupted")
    rank = run_gang(2, directory, *WATCHED)
    return rank.losses, directory / "checkpoints" / f"step-{STEPS:08d}.npz"


@pytest.fixture(scope="module")
def thirty_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints at 10, 20 and 30, to be copied."""
    directory = tmp_path_factory.mktemp("thirty")
    run_gang(3, directory, "--steps=30", "--checkpoint-every=10")
    return directory / "checkpoints"


def terminate_all(gang: Launcher) -> None:
    for rank in gang.ranks.values():
        rank.send(signal.SIGTERM)


def terminate_rank_1(gang: Launcher) -> None:
    gang.ranks[1].send(signal.SIGTERM)


DEADLINE = "2031-05-01T08:00:30+00:00"


def write_stop_file(gang: Launcher) -> None:
    gang.stop_file.write_text(f"{DEADLINE}\n")


@pytest.mark.parametrize("ask", [terminate_all, terminate_rank_1, write_stop_file])
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(
    ask: Callable[[Launcher], None],
    uninterrupted: tuple[dict[int, float], Path],
    tmp_path: Path,
) -> None:
    with gang_of(2, tmp_path) as gang:
        gang.start_all(*WATCHED, "--step-time=0.01")
        gang.ranks[0].until_printed("step=20 ")
        ask(gang)
        assert gang.exit_codes() == {0: 143, 1: 143}
        before = gang.ranks[0].losses
        stopped_at = max(before)
        assert all(f"stopped: after_step={stopped_at} " in r.output for r in gang.ranks.values())
        told = [f"deadline={DEADLINE}" in r.output for r in gang.ranks.values()]
        assert told == [ask is write_stop_file] * 2
    gang.stop_file.unlink(missing_ok=True)

    resumed = run_gang(2, tmp_path, *WATCHED, attempt=2)
    after = resumed.losses
    assert f"checkpoint loaded: step={stopped_at} path={gang.checkpoints}" in resumed.output
    assert "attempt=2" in resumed.output
    assert 20 <= stopped_at < STEPS
    assert [*before, *after] == list(range(1, STEPS + 1))
    losses, last_checkpoint = uninterrupted
    assert before | after == pytest.approx(losses, abs=1e-6)
    same_name = gang.checkpoints / last_checkpoint.name
    with np.load(last_checkpoint) as expected, np.load(same_name) as actual:
        assert {name: array.tolist() for name, array in actual.items()} == {
            name: array.tolist() for name, array in expected.items()
        }


def test_the_number_of_workers_may_change_between_attempts(
    thirty_steps: Path, uninterrupted: tuple[dict[int, float], Path], tmp_path: Path
) -> None:
    copytree(thirty_steps, tmp_path / "checkpoints")
    resumed = run_gang(1, tmp_path, *WATCHED, attempt=2)
    assert next(iter(resumed.losses)) == 31
    assert resumed.losses[STEPS] == pytest.approx(uninterrupted[0][STEPS], abs=1e-6)


def test_a_stop_does_not_wait_for_the_end_of_a_long_step(tmp_path: Path) -> None:
    with gang_of(2, tmp_path) as gang:
        gang.start_all("--step-time=60")
        for rank in gang.ranks.values():
            rank.until_printed("joined: all 2 ranks begin after_step=0")
        asked_at = time.monotonic()
        terminate_rank_1(gang)
        assert gang.exit_codes() == {0: 143, 1: 143}
        assert time.monotonic() - asked_at < 5.0  # usually 0.2; generous for a busy machine
        assert [path.name for path in gang.checkpoints.iterdir()] == ["step-00000001.npz"]


def test_the_last_three_checkpoints_are_kept(tmp_path: Path) -> None:
    run_gang(1, tmp_path, "--steps=45", "--checkpoint-every=10")
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "step-00000030.npz",
        "step-00000040.npz",
        "step-00000045.npz",
    ]


def cut_short(content: bytes) -> bytes:
    return content[: len(content) // 2]


def never_written(content: bytes) -> bytes:
    return b""


def lost_a_block(content: bytes) -> bytes:
    return content[:8192] + bytes(4096) + content[12288:]


def one_bit_flipped(content: bytes) -> bytes:
    return content[:9999] + bytes([content[9999] ^ 1]) + content[10000:]


@pytest.mark.parametrize("damage", [cut_short, never_written, lost_a_block, one_bit_flipped])
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    damage: Callable[[bytes], bytes],
    thirty_steps: Path,
    uninterrupted: tuple[dict[int, float], Path],
    tmp_path: Path,
) -> None:
    newest = copytree(thirty_steps, tmp_path / "checkpoints") / "step-00000030.npz"
    newest.write_bytes(damage(newest.read_bytes()))
    resumed = run_gang(1, tmp_path, *WATCHED, attempt=2)
    assert f"checkpoint damaged: set aside as {newest}.damaged" in resumed.output
    assert "checkpoint loaded: step=20 " in resumed.output
    assert list(resumed.losses) == list(range(21, STEPS + 1))
    assert resumed.losses[STEPS] == pytest.approx(uninterrupted[0][STEPS], abs=1e-6)


def test_without_any_whole_checkpoint_it_begins_anew(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    (checkpoints / "step-00000010.npz").write_bytes(b"torn")
    (checkpoints / ".step-00000020.npz.unfinished").write_bytes(b"the writer died here")
    rank = run_gang(1, tmp_path, "--steps=3", "--report-every=1")
    assert "checkpoint loaded" not in rank.output
    assert list(rank.losses) == [1, 2, 3]


def test_only_rank_0_needs_the_checkpoints(thirty_steps: Path, tmp_path: Path) -> None:
    copytree(thirty_steps, tmp_path / "checkpoints")
    with gang_of(2, tmp_path, attempt=2) as gang:
        gang.start(0, "--steps=32")
        gang.start(1, "--steps=32", MUSTER_CHECKPOINT_DIR="")
        assert gang.exit_codes() == {0: 0, 1: 0}
        assert "joined: all 2 ranks begin after_step=30" in gang.ranks[1].output


def test_a_finished_training_has_nothing_left_to_do(thirty_steps: Path, tmp_path: Path) -> None:
    copytree(thirty_steps, tmp_path / "checkpoints")
    again = run_gang(2, tmp_path, "--steps=30", attempt=2)
    assert not again.losses
    assert "finished: steps=30" in again.output


def test_the_checkpoint_of_another_seed_is_refused(thirty_steps: Path, tmp_path: Path) -> None:
    copytree(thirty_steps, tmp_path / "checkpoints")
    with gang_of(1, tmp_path, attempt=2) as gang:
        assert gang.start(0, "--steps=40", "--seed=9").exit_code() == 2
        assert "was made with --seed 0, not 9" in gang.ranks[0].output


def test_a_directory_that_cannot_be_written_does_not_end_the_training(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file, where a directory should be")
    rank = run_gang(1, tmp_path, "--steps=3", "--report-every=1")
    assert "checkpoint failed: step=3 " in rank.output
    assert list(rank.losses) == [1, 2, 3]
