"""What a failure is held to be: the order of evidence, and the traps that real failures set."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain.diagnosis import Action, Blame, Diagnosis, Kind, Source, Spread, Stage
from muster.domain.evidence import CheckpointFolder, CheckpointFound, NodeEvidence, WorkerEvidence
from muster.domain.faults import Faults
from muster.domain.nodes import NodeCondition
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Elsewhere, Failure, NodeRecord
from tests.fault_tolerance.failures import BOOK, alive, failure, kernel, worker
from tests.support.lives import START

TRACE = 'Traceback (most recent call last):\n  File "t.py", line 9, in main\n'
IMPORT = f"{TRACE}ModuleNotFoundError: No module named 'x'"
KEY = f"step: 90000 loss 1.0\n{TRACE}KeyError: 'x'"
WATCHDOG = "Watchdog caught collective operation timeout"


def judged(found: Failure) -> Diagnosis:
    return diagnose(found, BOOK, found.at)


def said(found: Failure) -> tuple[str | None, Blame, Action]:
    diagnosis = judged(found)
    return diagnosis.rule, diagnosis.blame, diagnosis.action


# --- the order of evidence ---------------------------------------------------------------------


def test_what_nothing_explains_is_unknown_and_safe() -> None:
    found = judged(failure(worker(tail="something happened")))
    assert (found.rule, found.blame, found.action) == (None, Blame.UNKNOWN, Action.RETRY)
    assert found.nodes == ()
    assert found.confidence < 0.5


@pytest.mark.parametrize(("order", "action"), [("stop", Action.IGNORE), ("evict", Action.REQUEUE)])
def test_our_own_order_beats_every_other_evidence(order: str, action: Action) -> None:
    dying = worker(tail=IMPORT, code=143, reason="OOMKilled")
    found = failure(dying, nodes=(kernel("n0", "Xid (PCI): 79"),), order=order)
    assert said(found) == (f"order.{order}", Blame.PLATFORM, action)


def test_pod_beats_kernel_beats_log_beats_exit() -> None:
    log = worker(tail=IMPORT, code=127)
    assert judged(failure(worker(code=127), ran_s=5)).rule == "exit.127"
    assert judged(failure(log, ran_s=5)).rule == "py.import"
    gone = (kernel("n0", "Xid (PCI): 79, GPU has fallen off the bus"),)
    assert judged(failure(log, nodes=gone)).rule == "xid.79"
    killed = worker(tail=IMPORT, code=137, reason="OOMKilled")
    assert judged(failure(killed, nodes=gone)).rule == "pod.oomkilled"


def test_a_lost_node_is_the_cause_of_what_the_others_report() -> None:
    dead = worker(1, code=None, cause="node_lost", ended_at=None)
    found = judged(failure(worker(0, WATCHDOG), dead))
    assert (found.rule, found.nodes) == ("node.lost", ("n1",))
    assert found.first == "worker-1"


@pytest.mark.parametrize(
    ("minutes", "counts"), [(-10, True), (-10.1, False), (5, True), (5.1, False)]
)
def test_the_kernel_is_heard_within_its_window_only(minutes: float, counts: bool) -> None:
    line = kernel("n0", "Xid (PCI): 79", START + timedelta(minutes=minutes))
    assert (judged(failure(worker(), nodes=(line,))).rule == "xid.79") is counts


# --- who failed first --------------------------------------------------------------------------


def test_the_earliest_by_the_common_clock_is_first() -> None:
    late = worker(0, IMPORT, after=5)
    ahead = worker(1, KEY, after=20, skew_s=18)
    assert judged(failure(late, ahead)).first == "worker-1"


def test_of_a_tie_the_one_with_a_cause_is_first_and_the_reporters_last() -> None:
    tied = failure(worker(0, WATCHDOG), worker(1), worker(2, IMPORT), worker(3, IMPORT))
    assert judged(tied).first == "worker-2"
    silent = failure(worker(0, WATCHDOG), worker(2), worker(1))
    assert judged(silent).first == "worker-1"


def test_a_cause_that_comes_a_little_later_beats_a_report_that_was_faster() -> None:
    found = judged(failure(worker(0, WATCHDOG), worker(1, IMPORT, after=4)))
    assert (found.rule, found.first) == ("py.import", "worker-1")


def test_reports_name_the_peer_that_went_away_and_never_blame_who_reports() -> None:
    line = "Connection closed by remote peer worker-2"
    found = judged(failure(worker(0, line), worker(1, line), alive(2), worker(3, WATCHDOG)))
    assert (found.rule, found.nodes, found.first) == ("nccl.remote", ("n2",), "worker-2")
    assert found.blame is Blame.NETWORK


def test_one_report_among_many_blames_nobody() -> None:
    line = "Connection closed by remote peer worker-2"
    found = judged(failure(worker(0, line), worker(1), alive(2), worker(3)))
    assert (found.rule, found.nodes) == (None, ())


def test_two_that_report_one_peer_blame_the_peer() -> None:
    line = "IB retry exceeded to worker-3"
    found = judged(failure(worker(0, line), worker(1, line), worker(2), worker(3)))
    assert (found.rule, found.nodes) == ("nccl.ib", ("n3",))


# --- traps -------------------------------------------------------------------------------------


def test_memory_out_at_the_first_barrier_after_an_ecc_crash_is_the_node() -> None:
    before = Earlier("f", "gpu.ecc", ("n0",), "n0", 0, START - timedelta(minutes=5))
    dying = worker(tail="RuntimeError: CUDA out of memory")
    found = judged(failure(dying, earlier=(before,), ran_s=20))
    assert (found.blame, found.action, found.nodes) == (Blame.HARDWARE, Action.EXCLUDE, ("n0",))
    assert found.evidence[1].rule == "history.sick_node"


def test_memory_out_on_a_node_that_others_found_sick_is_the_node() -> None:
    sick = NodeRecord("n0", 1, 1, last=(("xid.79", START - timedelta(hours=2)),))
    dying = worker(tail="RuntimeError: CUDA error: out of memory")
    assert judged(failure(dying, records=(sick,), ran_s=20)).nodes == ("n0",)
    well = judged(failure(worker(tail="CUDA out of memory"), ran_s=20))
    assert (well.blame, well.action) == (Blame.USER, Action.STOP)


def test_memory_out_after_many_steps_is_tried_once_more() -> None:
    dying = worker(tail="step 1200 loss 0.1\nCUDA out of memory. Tried to allocate 2 GiB")
    found = judged(failure(dying))
    assert (found.stage, found.action) == (Stage.TRAIN, Action.RETRY_ONCE)


def test_a_kill_is_memory_only_where_a_record_says_so() -> None:
    killed = worker(code=137)
    assert judged(failure(killed)).rule is None
    record = kernel("n0", "Memory cgroup out of memory: Killed process 4211 (python)")
    found = judged(failure(killed, nodes=(record,)))
    assert (found.rule, found.blame, found.action) == ("kern.oom_cgroup", Blame.USER, Action.STOP)
    elsewhere = kernel("n7", "Memory cgroup out of memory: Killed process 4211 (python)")
    assert judged(failure(killed, nodes=(elsewhere,))).rule is None
    unknown = worker(code=137, reason="ContainerStatusUnknown")
    assert judged(failure(unknown)).blame is Blame.UNKNOWN


def test_noise_of_the_shutdown_is_no_cause() -> None:
    tail = (
        "RuntimeError: port: 29500, name: EADDRINUSE\n"
        "Exception ignored in: <function _Iter.__del__ at 0x7f>\n"
        "Traceback (most recent call last):\n"
        '  File "loader.py", line 1, in __del__\n'
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Terminated."
    )
    assert judged(failure(worker(tail=tail))).rule == "port.in_use"


def test_a_full_disk_is_found_behind_what_other_ranks_call_it() -> None:
    found = failure(
        worker(0, "RuntimeError: unexpected pos 704 vs 598"),
        worker(1, "OSError: [Errno 28] No space left on device"),
    )
    assert said(found) == ("fs.enospc", Blame.STORAGE, Action.HOLD)


def test_an_application_xid_never_blames_a_node() -> None:
    found = judged(failure(worker(), nodes=(kernel("n0", "Xid (PCI): 31"),)))
    assert (found.rule, found.nodes) == (None, ())
    assert any(line.rule == "xid.app" for line in found.evidence)


@pytest.mark.parametrize(
    ("message", "blame"),
    [
        ("The node was low on resource: memory.", Blame.PLATFORM),
        (
            "The node was low on resource: memory. Container main was using 90Gi, which exceeds"
            " its request of 64Gi.",
            Blame.USER,
        ),
        (
            "The node was low on resource: memory. Container main was using 9Gi, request is 8Gi",
            Blame.USER,
        ),
        (
            "The node was low on resource: memory. Container main was using 9Gi, request is 0",
            Blame.PLATFORM,
        ),
    ],
)
def test_an_eviction_has_two_owners(message: str, blame: Blame) -> None:
    found = judged(failure(worker(code=137, reason="Evicted", message=message)))
    assert found.blame is blame
    assert found.nodes == (("n0",) if blame is Blame.PLATFORM else ())


def test_exit_0_of_one_worker_while_others_go_on_needs_a_person() -> None:
    found = judged(failure(worker(0, code=0), alive(1), exited=True))
    assert (found.rule, found.action) == ("exit.0_partial", Action.HOLD)
    assert found.advice is not None


def test_a_masked_error_is_no_success() -> None:
    tails = worker(0, IMPORT, code=0), worker(1, code=0)
    assert judged(failure(*tails)).rule == "exit.masked"
    assert judged(failure(*tails, complete=True)).rule is None


def test_a_bad_end_after_the_training_was_complete_is_not_run_again() -> None:
    found = judged(failure(worker(tail="step 9\nA worker died", code=134), complete=True))
    assert (found.rule, found.action) == ("exit.after_success", Action.HOLD)
    assert found.stage is Stage.TEARDOWN


def test_what_the_run_got_over_is_no_cause() -> None:
    tail = "Connect to peer failed, retrying\nstep 10 loss 1\nstep 20 loss 1\n" + IMPORT
    assert judged(failure(worker(tail=tail))).rule == "py.import"


def test_an_exception_that_is_only_mentioned_is_weaker_than_one_that_ended_the_program() -> None:
    tail = f"ModuleNotFoundError: No module 'flash', going on without\n{TRACE}KeyError: 'x'"
    assert judged(failure(worker(tail=tail))).rule == "py.key"


def test_the_telling_rule_of_a_line_beats_the_general_one() -> None:
    found = judged(failure(worker(tail="ValueError: world size 6 is not divisible by 4")))
    assert found.rule == "cfg.parallel"


def test_a_fault_of_the_program_before_its_first_step_is_sure_to_come_again() -> None:
    tail = f"{TRACE}KeyError: 'x'"
    assert judged(failure(worker(tail=tail), ran_s=30)).action is Action.STOP
    assert judged(failure(worker(tail=KEY))).action is Action.RETRY_ONCE


@pytest.mark.parametrize(
    ("found", "stops"), [({"ran_s": 29.0}, True), ({"ran_s": 30.0}, False), ({}, False)]
)
def test_exit_2_speaks_of_the_command_only_of_a_quick_end(
    found: dict[str, float], stops: bool
) -> None:
    assert (judged(failure(worker(code=2), **found)).action is Action.STOP) is stops


def test_a_broken_checkpoint_is_passed_over_while_there_is_another() -> None:
    dying = worker(tail="PytorchStreamReader failed finding central directory")
    bad = CheckpointFound(name="step-2", complete=False)
    good = CheckpointFolder(path="/ckpt", found=(bad, CheckpointFound(name="step-1")))
    assert judged(failure(dying, checkpoint=good)).action is Action.RETRY_ONCE
    none = CheckpointFolder(path="/ckpt", found=(bad,))
    assert judged(failure(dying, checkpoint=none)).action is Action.HOLD


# --- spread and history ------------------------------------------------------------------------


def test_what_every_node_shows_at_once_is_no_single_nodes_fault() -> None:
    gang = tuple(worker(rank, "Stale file handle") for rank in range(4))
    found = judged(failure(*gang))
    assert (found.spread, found.nodes, found.action) == (Spread.ALL, (), Action.RETRY)
    assert found.blame is Blame.STORAGE
    one = judged(failure(worker(0, "Stale file handle"), *(worker(r, WATCHDOG) for r in (1, 2, 3))))
    assert (one.spread, one.nodes) == (Spread.ONE, ("n0",))


def test_a_driver_that_is_missing_everywhere_was_never_asked_for() -> None:
    gang = tuple(worker(rank, "Found no NVIDIA driver") for rank in range(2))
    assert judged(failure(*gang, ran_s=10)).blame is Blame.USER
    assert judged(failure(gang[0], alive(1), ran_s=10)).nodes == ("n0",)


def _again(found: Failure, *nodes: str, count: int = 1, step: int = 0) -> Faults:
    name = judged(found).fingerprint
    return Faults(fingerprint=name, count=count, step=step, nodes=nodes)


@pytest.mark.parametrize(
    ("nodes", "step", "sure"), [(("n8",), 0, True), (("n0",), 0, False), (("n8",), 5, False)]
)
def test_the_same_on_other_nodes_without_progress_is_deterministic(
    nodes: tuple[str, ...], step: int, sure: bool
) -> None:
    dying = (worker(0, "Connect to peer failed"), worker(1, WATCHDOG))
    faults = _again(failure(*dying, step=step), *nodes)
    found = judged(failure(*dying, faults=faults, step=step))
    assert (found.kind is Kind.DETERMINISTIC and found.action is Action.STOP) is sure


def test_storage_that_fails_everywhere_waits_for_a_person() -> None:
    dying = worker(tail="503 Service Unavailable")
    faults = _again(failure(dying), "n8")
    assert judged(failure(dying, faults=faults)).action is Action.HOLD
    many = Elsewhere(jobs=3, users=2)
    found = judged(failure(dying, faults=faults, elsewhere=many))
    assert (found.action, found.spread) == (Action.RETRY, Spread.JOBS)


def test_two_lost_nodes_are_two_lost_nodes() -> None:
    dead = worker(0, code=None, cause="node_lost")
    found = judged(failure(dead, faults=_again(failure(dead), "n8")))
    assert found.action is Action.EXCLUDE


def test_an_exit_that_nobody_can_explain_is_never_called_deterministic_while_it_trains() -> None:
    for tail in ("", "step 7 loss 0.3"):
        dying = worker(tail=tail, code=137)
        found = judged(failure(dying, faults=_again(failure(dying), "n8")))
        assert found.action is Action.RETRY, tail


@pytest.mark.parametrize(("users", "jobs", "blamed"), [(1, 2, False), (2, 1, False), (2, 2, True)])
def test_the_same_node_with_others_jobs_is_the_node(users: int, jobs: int, blamed: bool) -> None:
    record = NodeRecord("n0", users, jobs)
    gang = (worker(0), worker(1, after=5))
    found = judged(failure(*gang, records=(record,)))
    assert (found.nodes == ("n0",)) is blamed
    own = judged(failure(worker(0, IMPORT), records=(record,)))
    assert own.blame is Blame.USER


def test_a_passing_fault_that_comes_again_on_its_node_leaves_the_node() -> None:
    gang = (worker(0, "EADDRINUSE"), worker(1, WATCHDOG))
    found = judged(failure(*gang, faults=_again(failure(*gang), "n0", "n1")))
    assert (found.action, found.nodes) == (Action.EXCLUDE, ("n0",))


# --- the rest of it ----------------------------------------------------------------------------


def test_a_node_that_is_reclaimed_explains_what_nothing_else_does() -> None:
    leaving = (NodeEvidence(node="n0", condition=NodeCondition.RECLAIMING),)
    assert judged(failure(worker(code=143), nodes=leaving)).rule == "node.reclaimed"
    assert judged(failure(worker(tail=IMPORT), nodes=leaving)).rule == "py.import"


def test_a_rule_in_shadow_is_told_and_decides_nothing() -> None:
    found = judged(failure(worker(tail="brand new")))
    assert (found.rule, found.shadow) == (None, ("new.rule",))


def test_the_lost_work_is_counted_from_the_last_checkpoint() -> None:
    assert judged(failure(unsaved_s=1800.0, ran_s=7200.0)).gpu_hours == 4.0
    assert judged(failure(ran_s=3600.0)).gpu_hours == 8.0


def test_evidence_is_bounded_clean_and_tells_its_source() -> None:
    tail = "\x1b[31mKeyError: '\x07" + "x" * 5000 + "'"
    gang = tuple(worker(rank, tail) for rank in range(20))
    found = judged(failure(*gang))
    assert len(found.evidence) <= 8
    assert found.evidence[0].source is Source.LOG
    assert all(len(line.text) <= 300 and line.text.isprintable() for line in found.evidence)


def test_the_same_failure_is_judged_the_same_whatever_the_order_of_workers() -> None:
    gang = [worker(0, WATCHDOG), worker(1, IMPORT, after=1), worker(2, KEY, after=3)]
    first: Diagnosis = judged(failure(*gang))
    turned: list[WorkerEvidence] = gang[::-1]
    assert judged(failure(*turned)) == first
