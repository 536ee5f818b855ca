"""The loop that looks at running jobs: what it writes, when it keeps still, and only once."""

from __future__ import annotations

from typing import Any

import pytest

from muster.contracts.evidence import AskFailure, AskSignals
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.diagnosis import TEXT, Source
from muster.domain.edges import Owner
from muster.domain.evidence import JobSignals
from muster.domain.incidents import IncidentKind
from muster.domain.phases import Phase
from muster.fault_tolerance.core.attributed import SWITCH
from muster.fault_tolerance.core.hang_lines import LINES
from muster.fault_tolerance.settings import FaultToleranceSettings
from tests.support.silence import signals, worker
from tests.support.silent_world import POLL_S, SilentWorld, Tells

LATE_S = 3 * POLL_S
RESTART = {"action": "restart", "window_s": 600}


def stuck(after_s: float = 300.0, ranks: int = 1, **more: Any) -> Tells:
    """Steps every 10 s until it stands still, asleep and with an idle GPU."""

    def tells(attempt: int, passed: float, stacks: bool) -> JobSignals:
        busy = min(passed, after_s)
        signs = {
            "cpu_s": busy,
            "gpu": 0.9 if passed < after_s else 0.0,
            "gpu_watts": 4000 if passed < after_s else 600,
            "moved": int(busy * 10**6),
            "stack": "wait" if stacks else None,
            "standing": "all_reduce (dist.py:12) < step (train.py:88)" if stacks else None,
            **more,
        }
        return signals(*(worker(r, **signs) for r in range(ranks)), step=int(busy / 10))

    return tells


def silent_world(
    tells: Any = None, *, hang: Any = None, ranks: int = 1, **more: Any
) -> SilentWorld:
    world = SilentWorld(tells or stuck(ranks=ranks), **more)
    for rank in range(ranks):
        world.node(f"n{rank}")
    world.running(workers=ranks, **({"hang": hang} if hang else {}))
    return world


def test_a_hang_is_told_once_with_its_evidence_and_the_job_runs_on() -> None:
    world = silent_world()
    world.go(900 - 2 * POLL_S)
    assert not world.facts(f.HangSuspected)
    world.go(3600)
    (told,) = world.facts(f.HangSuspected)
    assert told.attempt == 1
    assert (told.step, told.stage) == (30, "training")
    assert 600 <= told.seconds <= 600 + LATE_S
    assert world.state().phase is Phase.RUNNING
    text = "\n".join(told.evidence)
    assert "progress: training, step 30" in text
    assert "device: still for" in text
    assert "all_reduce (dist.py:12)" in text
    assert "worker-0 printed: PULSE" in text


def test_a_job_that_is_to_be_restarted_is_ended_with_its_evidence() -> None:
    world = silent_world(hang=RESTART)
    world.go(900 + LATE_S)
    (hung,) = world.facts(f.Hung)
    assert hung.seconds >= 600
    assert not hung.exited
    assert any(line.startswith("stack of worker-0") for line in hung.evidence)
    assert not world.facts(f.HangSuspected)
    assert world.state().phase is not Phase.RUNNING


def test_a_person_who_must_look_finds_the_stacks() -> None:
    world = silent_world(hang=RESTART)
    for attempt in (1, 2, 3):
        world.go(900 + LATE_S)
        assert len(world.facts(f.Hung)) == attempt
        world.go(120)  # for the judgement
        if attempt < 3:
            assert world.state().phase is Phase.STARTING
            world.starts()
    (escalated,) = world.facts(f.Escalated)
    assert world.state().phase is Phase.ABNORMAL
    assert (world.state().ledgers.hangs, world.state().ledgers.restarts) == (2, 0)
    seen = [line.text for line in escalated.diagnosis.evidence if line.source is Source.SIGNALS]
    assert any(text.startswith("stack of worker-0: all_reduce (dist.py:12)") for text in seen)
    assert any(text.startswith("device: still") for text in seen)


def test_what_somebody_doubts_is_told_and_not_ended() -> None:
    def tells(attempt: int, passed: float, stacks: bool) -> JobSignals:
        told = stuck()(attempt, passed, stacks)
        assert told is not None
        works = told.workers[0].model_copy(update={"gpu": 0.9, "gpu_watts": 4000})
        return told.model_copy(update={"workers": (works,)})

    world = silent_world(tells, hang=RESTART)
    world.go(300 + 3600 - 2 * POLL_S)
    assert not world.facts(f.HangSuspected)
    world.go(3600)
    assert len(world.facts(f.HangSuspected)) == 1
    assert not world.facts(f.Hung)
    assert world.hang().doubtful


def test_what_is_written_down_is_bounded() -> None:
    world = silent_world(hang=RESTART, ranks=4)
    world.output = "x" * 10_000 + "\n" + "a\x1b[31mred\n" * 500
    world.go(900 + LATE_S)
    (hung,) = world.facts(f.Hung)
    assert len(hung.evidence) <= LINES
    assert all(len(line) <= TEXT and line.isprintable() for line in hung.evidence)


def test_a_second_silence_of_one_attempt_is_told_again() -> None:
    def tells(attempt: int, passed: float, stacks: bool) -> JobSignals:
        first = stuck()(attempt, min(passed, 1500.0), stacks)
        assert first is not None
        return first.model_copy(update={"step": 40}) if passed >= 1500 else first

    world = silent_world(tells)
    world.go(1500)
    assert len(world.facts(f.HangSuspected)) == 1
    world.go(3600)
    assert [told.step for told in world.facts(f.HangSuspected)] == [30, 40]


@pytest.mark.parametrize("hang", [None, RESTART])
def test_two_replicas_write_one_fact(hang: Any) -> None:
    world = silent_world(hang=hang, replicas=2)
    world.go(3600)
    assert len(world.facts(f.HangSuspected)) + len(world.facts(f.Hung)) == 1


def test_a_replica_that_starts_anew_tells_no_silence_again() -> None:
    world = silent_world()
    world.go(1200)
    for process in world.world.named("fault-tolerance"):
        world.world.kill(process)
    world.go(3600)
    assert len(world.facts(f.HangSuspected)) == 1


def test_after_a_restart_of_the_service_the_window_begins_anew() -> None:
    world = silent_world(hang=RESTART)
    world.go(880)
    for process in world.world.named("fault-tolerance"):
        world.world.kill(process)
    world.go(600)
    assert not world.facts(f.Hung)
    world.go(LATE_S)
    assert len(world.facts(f.Hung)) == 1


def test_an_executor_that_does_not_answer_is_no_proof_of_anything() -> None:
    world = silent_world(hang=RESTART)
    world.go(600)
    world.away = True
    world.go(1800)
    assert not world.facts(f.Hung)
    world.away = False
    world.go(600 - POLL_S)
    assert not world.facts(f.Hung)
    world.go(2 * LATE_S)
    assert len(world.facts(f.Hung)) == 1


def test_an_executor_that_does_not_know_the_job_is_no_proof_either() -> None:
    world = silent_world(lambda attempt, passed, stacks: None, hang=RESTART)
    world.go(7200)
    assert not world.facts(f.Hung)


def test_the_next_attempt_knows_nothing_of_the_last_ones_silence() -> None:
    world = silent_world(hang=RESTART)
    world.go(900 + LATE_S)
    assert len(world.facts(f.Hung)) == 1
    assert world.state().phase is Phase.STARTING
    world.starts()
    world.tells = stuck(after_s=1e9)
    world.go(3600)
    assert len(world.facts(f.Hung)) == 1
    assert world.state().phase is Phase.RUNNING


@pytest.mark.parametrize(
    "fact",
    [
        pytest.param((Owner.ADMISSION, n.NodeDrained()), id="drained"),
        pytest.param((Owner.EXECUTOR, n.NodeLost()), id="lost"),
    ],
)
def test_a_node_that_is_not_in_order_disarms(fact: tuple[Owner, n.NodeFact]) -> None:
    world = silent_world(hang=RESTART, ranks=4)
    world.go(400)
    world.node("n2", fact)
    world.go(3600)
    assert not world.facts(f.Hung)
    assert world.hang().unarmed == "node"


def test_a_node_that_is_well_again_arms_with_a_new_window() -> None:
    world = silent_world(hang=RESTART)
    world.go(850)
    world.node("n0", (Owner.ADMISSION, n.NodeDrained()))
    world.go(30)
    world.node("n0", (Owner.ADMISSION, n.NodeUncordoned()))
    world.go(600 - POLL_S)
    assert not world.facts(f.Hung)
    world.go(LATE_S)
    assert len(world.facts(f.Hung)) == 1


def test_many_nodes_that_fall_silent_freeze_everything() -> None:
    world = SilentWorld(stuck())
    for number in range(20):
        world.node(f"n{number}")
    world.running(hang=RESTART)
    world.go(850)
    for number in range(10, 14):
        world.node(f"n{number}", (Owner.EXECUTOR, n.NodeLost()))
    world.go(120)
    assert world.hang().unarmed == "frozen"
    assert not world.facts(f.Hung)


def test_an_incident_of_what_the_job_stands_on_pauses_the_watch() -> None:
    world = SilentWorld(stuck())
    world.node("n0", labels={SWITCH: "s1"})
    world.running(hang=RESTART)
    world.incident(IncidentKind.SWITCH, "s2")
    world.go(850)
    world.incident(IncidentKind.SWITCH, "s1")
    world.go(500)
    assert world.hang().unarmed == "incident"
    world.incident(IncidentKind.SWITCH, "s1", over=True)
    world.go(600 - POLL_S)
    assert not world.facts(f.Hung)
    world.go(LATE_S)
    assert len(world.facts(f.Hung)) == 1


def test_a_command_that_only_sleeps_is_not_watched() -> None:
    world = SilentWorld(stuck())
    world.node("n0")
    world.running(hang=RESTART, command=["bash", "-c", "sleep inf"])
    world.go(7200)
    assert not world.facts(f.Hung)
    assert world.hang().unarmed == "sleeps"


def test_nobody_asks_about_jobs_that_nobody_wants_watched() -> None:
    world = SilentWorld(stuck())
    world.node("n0")
    world.running(hang={"action": "off"})
    world.go(3600)
    assert not world.asked
    assert world.hang().unarmed == "off"


def test_stacks_are_looked_at_only_of_a_silent_one() -> None:
    world = silent_world()
    world.go(300)
    assert world.asked
    assert not any(each.stacks for each in world.asked if isinstance(each, AskSignals))
    world.go(120)
    assert any(each.stacks for each in world.asked if isinstance(each, AskSignals))


def test_stacks_that_take_too_long_keep_nobody_from_looking() -> None:
    world = silent_world(hang=RESTART)
    world.slow = True
    world.go(900 + LATE_S)
    (hung,) = world.facts(f.Hung)
    assert not any(line.startswith("stack of") for line in hung.evidence)


def test_output_of_a_silent_one_is_read_once_a_minute() -> None:
    world = silent_world()
    world.go(300)
    assert not [each for each in world.asked if isinstance(each, AskFailure)]
    world.go(300)
    looks = [each for each in world.asked if isinstance(each, AskFailure)]
    assert 3 <= len(looks) <= 5


def test_one_question_asks_of_many_jobs() -> None:
    world = SilentWorld(stuck())
    for number in range(50):
        world.node(f"n{number}")
    for number in range(50):
        world.running(f"j{number}")
    world.go(POLL_S)
    assert len(world.asked[-1].jobs) == 50  # type: ignore[union-attr]


def test_a_worker_that_ended_well_while_others_wait_ends_the_attempt() -> None:
    def tells(attempt: int, passed: float, stacks: bool) -> JobSignals:
        told = stuck(ranks=2)(attempt, passed, stacks)
        assert told is not None
        if passed < 300:
            return told
        ended = worker(1, alive=False, exit_code=0)
        return told.model_copy(update={"workers": (told.workers[0], ended)})

    world = silent_world(tells, ranks=2)
    world.go(300 + 120 + LATE_S)
    (hung,) = world.facts(f.Hung)
    assert (hung.exited, hung.worker) == (True, "worker-1")


def test_what_is_thought_of_a_job_can_be_asked() -> None:
    world = silent_world()
    world.go(600)
    answer = world.hang()
    assert answer.unarmed is None
    assert (answer.stage, answer.step, answer.user_window_s) == ("training", 30, 600)
    assert answer.limit_s == answer.window_s == 600
    assert 270 <= answer.silent_s <= 300 + POLL_S
    assert answer.proven
    assert not answer.suspected
    assert {said.family: said.sign for said in answer.families} == {
        "progress": "moving",
        "device": "still",
        "process": "still",
        "framework": "unknown",
    }
    world.go(400)
    assert world.hang().suspected


def test_times_can_be_set() -> None:
    settings = FaultToleranceSettings(hang_scale=0.25)
    world = silent_world(hang=RESTART, settings=settings)
    world.go(300 + 150 + LATE_S)
    assert len(world.facts(f.Hung)) == 1
