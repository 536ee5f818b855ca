"""Signs of life: a step is what the training told of it, and repeating itself is no step."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from muster.testing.scripts import STUCK, Script, Vitals
from muster.testing.virtual_time import START
from tests.executor.desk_world import DeskWorld

STEPS = Script(start_s=0.0, step_s=1.0, vitals=Vitals(gpu=0.9, watts=600.0))


async def world_of(root: Path, script: Script, other: Script | None = None) -> DeskWorld:
    world = DeskWorld(root, worker_0=script, worker_1=other or script)
    await world.start()
    await world.runs()
    return world


async def test_tells_the_last_step_and_when_it_was_first_told(tmp_path: Path) -> None:
    world = await world_of(tmp_path, replace(STEPS, stuck_s=5.0, pulse_s=1.0))
    begin = world.clock.now()
    await world.passes(3.5)
    first = await world.signals()
    assert first is not None
    assert (first.step, first.step_at) == (3, begin + timedelta(seconds=3.5))
    await world.passes(2)
    stuck = await world.signals()
    await world.passes(500)
    later = await world.signals()
    assert stuck is not None
    assert later is not None
    assert (later.step, later.step_at) == (stuck.step, stuck.step_at)
    assert (stuck.step, stuck.step_at) == (5, begin + timedelta(seconds=5.5))
    assert (later.workers[0].printed or 0) > (stuck.workers[0].printed or 0)  # the pulse goes on


async def test_shows_how_each_worker_does(tmp_path: Path) -> None:
    waits = replace(STEPS, stuck_s=0.0, stuck=replace(STUCK, gpu=0.0, watts=80.0))
    world = await world_of(tmp_path, STEPS, waits)
    await world.passes(10)
    found = await world.signals(stacks=True)
    assert found is not None
    works, stands = found.workers
    assert (works.cpu_s, works.state, works.gpu, works.gpu_watts) == (10.0, "R", 0.9, 600.0)
    assert (stands.cpu_s, stands.state, stands.gpu, stands.gpu_watts) == (0.0, "S", 0.0, 80.0)
    assert (works.moved, stands.moved) == (10_000_000, 0)
    assert (works.stack, stands.stack) == ("working 10.0", "stuck")
    plain = await world.signals()
    assert plain is not None
    assert plain.workers[0].stack is None


async def test_of_a_worker_that_has_ended_its_exit_is_told(tmp_path: Path) -> None:
    world = await world_of(tmp_path, STEPS, Script(start_s=0.0, run_s=4.0))
    await world.passes(10)
    found = await world.signals()
    assert found is not None
    lives, ended = found.workers
    assert (lives.alive, lives.exit_code) == (True, None)
    assert (ended.alive, ended.exit_code, ended.cpu_s) == (False, 0, None)
    assert ended.ended_at == START + timedelta(seconds=4)


async def test_only_the_present_attempt_of_a_job_here_is_answered(tmp_path: Path) -> None:
    world = await world_of(tmp_path, STEPS)
    assert await world.signals(attempt=2) is None
    assert await world.signals(attempt=0) is None


async def test_a_declared_phase_lasts_until_the_next_step(tmp_path: Path) -> None:
    prints = ((2.5, "***** Running Evaluation *****"), (60.0, "step=3 loss=1"))
    world = await world_of(tmp_path, replace(STEPS, stuck_s=2.2, prints=prints))
    begin = world.clock.now()
    await world.passes(2.4)
    before = await world.signals()
    await world.passes(1)
    during = await world.signals()
    await world.passes(50)
    still = await world.signals()
    await world.passes(10)
    after = await world.signals()
    assert before is not None
    assert before.declared is None
    assert during is not None
    assert (during.declared, during.declared_at) == ("evaluation", begin + timedelta(seconds=3.4))
    assert still is not None
    assert (still.declared, still.declared_at, still.step) == ("evaluation", during.declared_at, 2)
    assert after is not None
    assert (after.declared, after.declared_at, after.step) == (None, None, 3)
