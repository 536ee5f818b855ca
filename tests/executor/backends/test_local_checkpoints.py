"""Checkpoints of the usual frameworks: the newest whole one is found, a torn one is told of."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from pathlib import Path

import pytest

from muster.domain.evidence import CheckpointFound
from muster.executor.backends.local.checkpoints import LOOKED_INTO, look


def torch_file(path: Path, *, torn: bool = False) -> None:
    """Write what `torch.save` writes: a zip without compression; torn: its end is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 1000)
    if torn:
        path.write_bytes(path.read_bytes()[:600])


def safetensors_file(path: Path, *, short: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    tensor = {"dtype": "F32", "shape": [25], "data_offsets": [0, 100]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "w": tensor}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * (100 - short))


def found(path: Path) -> list[tuple[str, int | None, bool]]:
    return [(each.name, each.step, each.complete) for each in look(path).found]


def broken(path: Path) -> CheckpointFound:
    first, *_ = look(path).found
    assert not first.complete
    return first


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    folder = look(tmp_path / "none")
    assert (folder.found, folder.error) == ((), "No such file or directory")
    assert look(tmp_path).found == ()
    assert look(tmp_path).error is None


def test_the_newest_by_step_is_chosen_and_nothing_older_is_looked_at(tmp_path: Path) -> None:
    for step in (9, 10, 100):
        torch_file(tmp_path / f"step_{step}.pt")
    os.utime(tmp_path / "step_9.pt", (2e9, 2e9))  # copied here later
    assert found(tmp_path) == [("step_100.pt", 100, True)]


def test_without_steps_the_newest_by_time_is_chosen(tmp_path: Path) -> None:
    for name, at in (("best.pt", 1e9), ("last.ckpt", 2e9)):
        torch_file(tmp_path / name)
        os.utime(tmp_path / name, (at, at))
    assert found(tmp_path) == [("last.ckpt", None, True)]


def test_a_torn_file_is_told_of_and_left_and_the_one_before_is_taken(tmp_path: Path) -> None:
    torch_file(tmp_path / "model-step-100.pt")
    torch_file(tmp_path / "model-step-200.pt", torn=True)
    before = (tmp_path / "model-step-200.pt").read_bytes()
    assert found(tmp_path) == [("model-step-200.pt", 200, False), ("model-step-100.pt", 100, True)]
    assert broken(tmp_path).why.startswith("model-step-200.pt is cut off or damaged")
    assert look(tmp_path).newest == CheckpointFound(name="model-step-100.pt", step=100)
    assert (tmp_path / "model-step-200.pt").read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "model-step-100.pt",
        "model-step-200.pt",
    ]


def test_an_old_pickle_counts_and_an_empty_file_does_not(tmp_path: Path) -> None:
    (tmp_path / "epoch1.pth").write_bytes(b"\x80\x02legacy")
    (tmp_path / "epoch2.pth").write_bytes(b"")
    assert found(tmp_path) == [("epoch2.pth", 2, False), ("epoch1.pth", 1, True)]


@pytest.mark.parametrize(
    "name", ["step-300.pt.tmp", ".step-300.npz.unfinished", "tmp-checkpoint-300"]
)
def test_what_is_still_being_written_is_no_checkpoint(tmp_path: Path, name: str) -> None:
    torch_file(tmp_path / "step-200.pt")
    if name.startswith("tmp"):
        torch_file(tmp_path / name / "model.pt")
    else:
        (tmp_path / name).write_bytes(b"PK")
    assert [(each.step, each.complete) for each in look(tmp_path).found] == [
        (300, False),
        (200, True),
    ]
    assert "still being written" in broken(tmp_path).why


def test_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    for name in ("config.json", "events.out.tfevents.123", "train-2.log", "README.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "runs").mkdir()
    (tmp_path / "logs2").mkdir()
    assert look(tmp_path).found == ()


# --- frameworks ---------------------------------------------------------------------------------


def trainer(path: Path, *, state: str | None = '{"global_step": 1}') -> None:
    """HF Trainer: its state is written last."""
    safetensors_file(path / "model.safetensors")
    torch_file(path / "optimizer.pt")
    if state is not None:
        (path / "trainer_state.json").write_text(state)


def test_a_checkpoint_of_the_hf_trainer_needs_its_state(tmp_path: Path) -> None:
    trainer(tmp_path / "checkpoint-500")
    trainer(tmp_path / "checkpoint-1000", state=None)
    trainer(tmp_path / "checkpoint-1500", state='{"global')
    assert found(tmp_path) == [
        ("checkpoint-1500", 1500, False),
        ("checkpoint-1000", 1000, False),
        ("checkpoint-500", 500, True),
    ]
    assert broken(tmp_path).why == "trainer_state.json is cut off or damaged: it is no JSON"


def test_safetensors_have_all_the_bytes_that_their_header_names(tmp_path: Path) -> None:
    trainer(tmp_path / "checkpoint-1")
    trainer(tmp_path / "checkpoint-2")
    safetensors_file(tmp_path / "checkpoint-2" / "model.safetensors", short=1)
    assert found(tmp_path) == [("checkpoint-2", 2, False), ("checkpoint-1", 1, True)]
    assert "model.safetensors has" in broken(tmp_path).why
    (tmp_path / "checkpoint-2" / "model.safetensors").write_bytes(b"\xff" * 8 + b"x")
    assert "has no header" in broken(tmp_path).why


def test_every_shard_that_an_index_names_is_there(tmp_path: Path) -> None:
    trainer(tmp_path / "checkpoint-2")
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "checkpoint-2" / "model.safetensors.index.json").write_text(json.dumps(index))
    assert broken(tmp_path).why == (
        "model-2.safetensors, which model.safetensors.index.json names, is missing"
    )


def deepspeed(path: Path, latest: str) -> None:
    for step in (100, 200):
        torch_file(path / f"global_step{step}" / "mp_rank_00_model_states.pt")
    (path / "latest").write_text(latest)


def test_what_is_newer_than_the_tracker_of_deepspeed_was_not_finished(tmp_path: Path) -> None:
    deepspeed(tmp_path, "global_step100")
    assert found(tmp_path) == [("global_step200", 200, False), ("global_step100", 100, True)]
    assert broken(tmp_path).why == "latest says that global_step100 was the last one to be finished"
    (tmp_path / "latest").write_text("global_step200\n")
    assert found(tmp_path) == [("global_step200", 200, True)]
    (tmp_path / "latest").write_text("my-best-tag-1")
    assert found(tmp_path) == [("global_step200", 200, True)]


def test_a_checkpoint_that_the_tracker_names_may_be_broken_all_the_same(tmp_path: Path) -> None:
    deepspeed(tmp_path, "global_step200")
    torch_file(tmp_path / "global_step200" / "zero_pp_rank_0_optim_states.pt", torn=True)
    assert found(tmp_path) == [("global_step200", 200, False), ("global_step100", 100, True)]
    for file in (tmp_path / "global_step200").iterdir():
        file.rename(file.with_suffix(".lost"))
    assert broken(tmp_path).why == "no file of states is in it"


def test_megatron_names_the_last_finished_iteration(tmp_path: Path) -> None:
    for step in (500, 1000):
        torch_file(tmp_path / f"iter_{step:07d}" / "mp_rank_00" / "model_optim_rng.pt")
    tracker = tmp_path / "latest_checkpointed_iteration.txt"
    tracker.write_text("500")
    assert found(tmp_path) == [("iter_0001000", 1000, False), ("iter_0000500", 500, True)]
    tracker.write_text("release")
    assert found(tmp_path) == [("iter_0001000", 1000, True)]


def test_a_distributed_checkpoint_has_its_metadata(tmp_path: Path) -> None:
    folder = tmp_path / "iter_0000007"
    folder.mkdir()
    (folder / "__0_0.distcp").write_bytes(b"x")
    assert broken(tmp_path).why == ".metadata, which is written last, is missing"
    (folder / ".metadata").write_bytes(b"x")
    assert found(tmp_path) == [("iter_0000007", 7, True)]


# --- manifests ----------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"size": 4}, "a.pt has 3 of 4 bytes"),
        ({"sha256": "0" * 64}, "a.pt does not match its checksum"),
        ({"name": "b.pt"}, "b.pt, which the manifest names, is missing"),
        ({"name": "../../secret"}, "../../secret, which the manifest names, is missing"),
    ],
)
def test_a_manifest_is_kept_to(
    tmp_path: Path, listed: bool, change: dict[str, object], why: str
) -> None:
    folder = tmp_path / "step-5"
    folder.mkdir()
    (folder / "a.pt").write_bytes(b"abc")
    said = {"name": "a.pt", "size": 3, "sha256": hashlib.sha256(b"abc").hexdigest(), **change}
    files = [said] if listed else {said.pop("name"): said}
    (folder / "manifest.json").write_text(json.dumps({"files": files}))
    (only,) = look(tmp_path).found
    assert (only.complete, only.why) == (not why, why)


def test_no_more_than_some_are_looked_into(tmp_path: Path) -> None:
    for step in range(1, LOOKED_INTO + 3):
        (tmp_path / f"step-{step}.pt").write_bytes(b"" if step > 1 else b"x")
    folder = look(tmp_path)
    assert len(folder.found) == LOOKED_INTO
    assert folder.newest is None
