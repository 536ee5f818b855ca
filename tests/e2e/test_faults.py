"""Real processes that fail, hang or only seem to, with every service: what follows, and who pays.

All stories run at once on one Muster, as jobs of different people do. Windows of hang detection are
scaled to a twentieth, so that half an hour is a minute and a half.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.diagnosis import Diagnosis
from muster.domain.state import JobState
from tests.e2e.fault_stories import STEPS, STORIES, Story
from tests.e2e.harness import Muster, muster_in, workers_of
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

WITHIN_S = 150.0
NODES = """\
- {name: node-1, gpus: 16, cpus: 64, memory_mib: 65536}
- {name: node-2, gpus: 16, cpus: 64, memory_mib: 65536}
"""
SETTINGS = {
    "MUSTER_FAULT_TOLERANCE_HANG_SCALE": "0.05",
    "MUSTER_FAULT_TOLERANCE_HANG_POLL_S": "1",
    "MUSTER_FAULT_TOLERANCE_HANG_STACKS_AFTER_S": "2",
    "MUSTER_EXECUTOR_OUTLIVED_S": "5",
    "MUSTER_EXECUTOR_OUTLIVED_LOOK_S": "1",
}
_EVERY_LIFE = {"submitted", "admitted", "scheduled", "launching", "started", "released"}
_BESIDE = {
    "archived",
    "checkpoint_saved",
    "progress_lost",
    "resume_verified",
    "signalled",
    "stop_requested",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A Muster with all stories under way. jobs: name -> id. full: a file on a full disk."""

    muster: Muster
    jobs: dict[str, str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("faults")
    with contextlib.ExitStack() as stack:
        environment = {
            "FULL": str(stack.enter_context(full_disk(folder / "disk"))),
            "CHECKPOINTS": str(folder / "checkpoints"),
            "TAKEN": str(stack.enter_context(taken_port())),
        }
        (folder / "checkpoints").mkdir()
        runner = stack.enter_context(asyncio.Runner())
        opened = muster_in(folder / "muster", NODES, SETTINGS)
        muster = runner.run(opened.__aenter__())
        stack.callback(lambda: runner.run(opened.__aexit__(None, None, None)))
        runner.run(muster.up())
        jobs = runner.run(submitted(muster, environment))
        yield Stage(muster, jobs)


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """Have a file system of 1 MiB; where none may be mounted, the device that is always full."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield Path("/dev/full")
        return
    try:
        yield folder / "checkpoint.pt"
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """Listen on a port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


async def submitted(muster: Muster, environment: dict[str, str]) -> dict[str, str]:
    """Submit every story; who they are."""
    async with muster.client() as client:
        found = {}
        for name, story in STORIES.items():
            data = {"spec": spec(name, story, environment)}
            answer = await client.request("submit", data, tenant="default", user=name)
            assert answer.job is not None, answer
            found[name] = answer.job
        return found


def spec(name: str, story: Story, environment: dict[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": "local",
        "command": ["python", "-c", STEPS + story.program],
        "resource": {"type": "on_demand", "replicas": story.workers, "gpus_per_replica": 1},
        "fault_tolerance": dict(story.retries),
        "environment": [{"name": key, "value": value} for key, value in environment.items()],
        "grace_s": 3,
        "checkpoint_dir": environment["CHECKPOINTS"] if story.keeps_checkpoints else None,
    }


async def ended(stage: Stage, name: str) -> JobState:
    """Wait until a story has come to its end; one of them has to be told."""
    job = stage.jobs[name]
    if name == "ends-well-when-told":
        await eventually(lambda: "step=5 " in stage.muster.log(job), within=60)
        await stage.muster.ok("stop", job)
    return await stage.muster.in_phase(
        job, "succeeded", "failed", "stopped", "abnormal", within=WITHIN_S
    )


async def told(stage: Stage, name: str) -> list[Any]:
    """Return everything that happened to a job, in order."""
    async with stage.muster.client() as client:
        timeline = await client.timeline("default", stage.jobs[name])
    return [item.event.data.detail for item in timeline]


def verdicts(details: list[Any]) -> list[Diagnosis]:
    judged = [each for each in details if isinstance(each, f.Judged)]
    found = [each.diagnosis for each in judged if each.diagnosis is not None]
    assert len(found) == len(judged), "a verdict does not say why"
    return found


@pytest.mark.parametrize("name", list(STORIES))
async def test_what_follows_and_who_pays(stage: Stage, name: str) -> None:
    story, state = STORIES[name], await ended(stage, name)
    details = await told(stage, name)
    happened = [each.event for each in details if each.event not in _EVERY_LIFE | _BESIDE]
    where = f"{name}: {happened}, {state.reason}, {verdicts(details)}"
    assert state.phase == story.phase, where
    assert tuple(dict.fromkeys(happened)) == story.facts, where
    ledgers = state.ledgers
    assert state.attempt == story.attempts, where
    assert ledgers.restarts == story.restarts, where
    assert len(ledgers.infrastructure) == story.infrastructure, where
    hung = [each for each in details if isinstance(each, f.Restarted) and each.hang]
    assert len(hung) == story.hangs, where
    for found in verdicts(details):
        judged_as(found, story, where)
    assert workers_of(stage.jobs[name]) == []


def judged_as(found: Diagnosis, story: Story, where: str) -> None:
    assert found.rule in story.rules, where
    assert found.blame in story.blames, where
    assert found.action in story.actions, where
    assert found.excluded == (), where  # no node is to blame for any of these
    assert found.evidence or "hung" in story.facts, where  # a hang's stands in its own fact
    assert found.before is not None, where
    assert found.after is not None, where
    if story.field is not None:
        assert found.advice is not None, where
        assert (found.advice.field or "").startswith(story.field.partition(".")[0]), where
        assert found.advice.en, where
        assert found.advice.zh, where


async def test_a_hang_is_told_with_what_was_seen_before_anything_was_killed(stage: Stage) -> None:
    for name in ("silent-rank", "pulse"):
        await ended(stage, name)
        (hung,) = [each for each in await told(stage, name) if isinstance(each, f.Hung)]
        assert hung.seconds >= 15
        assert hung.evidence


async def test_what_is_sure_to_come_again_is_not_tried_again(stage: Stage) -> None:
    for name in ("import-error", "bad-argument", "missing-file", "out-of-memory", "disk-full"):
        state = await ended(stage, name)
        assert (state.attempt, state.ledgers.restarts) == (1, 0), name


async def test_the_next_attempt_is_given_the_newest_checkpoint_that_is_whole(stage: Stage) -> None:
    name = "torn-checkpoint"
    await ended(stage, name)
    first, second = [x for x in await told(stage, name) if isinstance(x, f.Launching)]
    assert (first.resume_from, first.skipped) == (None, ())
    assert second.resume_from is not None
    assert second.resume_from.endswith("/checkpoints/step_3.pt")
    (torn,) = second.skipped
    assert (torn.name, torn.step, torn.complete) == ("step_5.pt", 5, False)
    assert "cut off" in torn.why
    told_to = stage.muster.log(stage.jobs[name], attempt=2)
    assert f"told: {second.resume_from}" in told_to
    folder = Path(second.resume_from).parent
    assert sorted(file.name for file in folder.iterdir()) == ["step_3.pt", "step_5.pt"]


def test_the_disk_is_full_by_a_limit_of_its_own_where_it_may_be_mounted(stage: Stage) -> None:
    output = stage.muster.log(stage.jobs["disk-full"])
    assert "[Errno 28]" in output or os.geteuid() != 0
