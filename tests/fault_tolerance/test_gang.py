"""What the workers of a gang have in common, and what a second sign makes of the first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.domain.diagnosis import Action, Blame, Diagnosis, Kind
from muster.domain.evidence import CheckpointFolder, CheckpointFound, WorkerEvidence
from muster.domain.faults import Faults, after_failure
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Elsewhere, Failure
from muster.fault_tolerance.core.gang import ALONE_S, START_S
from muster.fault_tolerance.core.history import PASSING, WANDERS
from muster.fault_tolerance.rulebook import shipped
from tests.fault_tolerance.failures import BOOK, alive, failure, kernel, worker
from tests.support.lives import START

ODD = "orca: profile a800 is not defined"
CLOSED = "peer closed by remote peer worker-{peer}"
SHIPPED = shipped()


def judged(found: Failure) -> Diagnosis:
    return diagnose(found, BOOK, found.at)


def really(found: Failure) -> Diagnosis:
    return diagnose(found, SHIPPED, found.at)


def gang(tail: str = ODD, count: int = 3, **more: object) -> tuple[WorkerEvidence, ...]:
    return tuple(worker(rank, tail, **more) for rank in range(count))  # type: ignore[arg-type]


# --- all the same, at once, as soon as they began ----------------------------------------------


def test_what_ends_every_worker_alike_at_the_start_is_the_jobs_own() -> None:
    found = judged(failure(*gang(), ran_s=4))
    assert (found.rule, found.blame, found.action) == ("gang.alike", Blame.USER, Action.STOP)
    assert found.kind is Kind.DETERMINISTIC
    assert found.nodes == ()
    assert found.advice is not None
    assert found.advice.field == "command"


@pytest.mark.parametrize(("ran_s", "rule"), [(START_S, "gang.alike"), (START_S + 1, None)])
def test_only_a_run_that_was_over_at_once_had_read_no_more_than_its_command(
    ran_s: float, rule: str | None
) -> None:
    assert judged(failure(*gang(), ran_s=ran_s)).rule == rule


@pytest.mark.parametrize(
    "word",
    [
        "connection refused",
        "504 Gateway Time-out",
        "server busy, try again",
        "连接服务器失败",
        "the licence service does not answer",
    ],
)
def test_an_outage_meets_all_at_once_and_passes(word: str) -> None:
    assert judged(failure(*gang(f"{ODD}: {word}"), ran_s=4)).rule is None


@pytest.mark.parametrize(
    "workers",
    [
        (worker(0, ODD), worker(1, "orca: no such queue")),
        (worker(0, ODD), worker(1, ODD, code=3)),
        (worker(0, ODD), worker(1, ODD, after=30)),
        (worker(0, ODD), alive(1)),
        gang(code=137),
        gang(tail=""),
    ],
    ids=["other words", "other code", "later", "one goes on", "killed", "silent"],
)
def test_anything_that_differs_leaves_it_unknown(workers: tuple[WorkerEvidence, ...]) -> None:
    assert judged(failure(*workers, ran_s=4)).rule is None


@pytest.mark.parametrize(("code", "rule"), [(134, "gang.alike"), (139, "gang.alike"), (143, None)])
def test_who_all_abort_alike_do_so_again_and_who_are_ended_do_not(
    code: int, rule: str | None
) -> None:
    assert judged(failure(*gang(code=code), ran_s=4)).rule == rule


def test_an_exception_of_all_before_any_step_may_come_late() -> None:
    raised = 'Traceback\n  File "/w/t.py", line 3, in f\n    g()\norca.Odd: no profile'
    assert judged(failure(*gang(raised), ran_s=900)).rule == "gang.alike"
    assert judged(failure(*gang("step: 7 loss 1\n" + raised), ran_s=900)).rule is None
    assert judged(failure(worker(0, raised), worker(1, raised + "!"), ran_s=900)).rule is None


@pytest.mark.parametrize(("ran_s", "rule"), [(ALONE_S, "gang.alike"), (ALONE_S + 1, None)])
def test_a_worker_without_others_must_have_ended_at_once(ran_s: float, rule: str | None) -> None:
    found = judged(failure(*gang(count=1), ran_s=ran_s))
    assert found.rule == rule
    assert found.action is (Action.RETRY_ONCE if rule else Action.RETRY)


def test_what_differs_by_rank_and_path_alone_is_the_same_word() -> None:
    told = tuple(worker(r, f"orca: rank {r} has no profile in /tmp/run{r}/x.toml") for r in (0, 1))
    assert judged(failure(*told, ran_s=4)).rule == "gang.alike"


def test_what_a_rule_knows_is_not_judged_by_the_gang() -> None:
    assert judged(failure(*gang("Stale file handle"), ran_s=4)).rule == "fs.stale"


# --- everybody names another -------------------------------------------------------------------


def test_who_all_lost_their_connections_lost_the_network() -> None:
    told = (worker(0, CLOSED.format(peer=1)), worker(1, CLOSED.format(peer=0)))
    found = judged(failure(*told, ran_s=4000))
    assert (found.rule, found.blame) == ("gang.connections", Blame.NETWORK)
    assert (found.action, found.nodes) == (Action.RETRY, ())


def test_who_went_first_and_silently_is_not_the_networks() -> None:
    told = (worker(0, "", code=137), *(worker(r, CLOSED.format(peer=0), after=3) for r in (1, 2)))
    found = judged(failure(*told, ran_s=4000))
    assert (found.rule, found.nodes) == (None, ())


def test_who_ended_after_the_others_spoke_of_it_is_looked_at() -> None:
    told = (worker(0, "", after=9), *(worker(r, CLOSED.format(peer=0)) for r in (1, 2)))
    assert judged(failure(*told, ran_s=4000)).nodes == ("n0",)


# --- standing still, incidents -----------------------------------------------------------------


def test_the_kernel_is_heard_from_before_a_job_stood_still() -> None:
    line = kernel("n1", "Xid (PCI): 79", START - timedelta(seconds=1900))
    still = replace(failure(alive(0), alive(1), nodes=(line,)), hung=1800)
    assert judged(still).rule == "xid.79"
    assert judged(replace(still, hung=900)).rule is None


def test_a_node_whose_processes_wait_for_a_file_server_is_left() -> None:
    line = kernel("n1", "ceph: mds0 hung", START - timedelta(seconds=600))
    still = replace(failure(alive(0), alive(1), nodes=(line,)), hung=1800)
    found = really(still)
    assert (found.blame, found.action, found.nodes) == (Blame.STORAGE, Action.EXCLUDE, ("n1",))
    both = (line, line.model_copy(update={"node": "n0"}))
    assert really(replace(still, nodes=both)).nodes == ()


def test_what_fails_with_many_others_is_part_of_their_incident() -> None:
    shared = Elsewhere(jobs=5, users=4, incident="i-1", shared="switch leaf-3")
    found = judged(failure(worker(tail="gone"), ran_s=4000, elsewhere=shared))
    assert (found.rule, found.blame) == ("gang.incident", Blame.PLATFORM)


# --- a second sign -----------------------------------------------------------------------------


def test_a_container_that_no_node_can_create_in_the_same_words_is_made_wrongly() -> None:
    def refused(rank: int, message: str) -> WorkerEvidence:
        return worker(rank, "", code=None, reason="CreateContainerError", message=message)

    alike = failure(refused(0, "no cwd"), refused(1, "no cwd"))
    assert (judged(alike).blame, judged(alike).action) == (Blame.USER, Action.STOP)
    unlike = failure(refused(0, "no cwd"), refused(1, "no space"))
    assert (judged(unlike).blame, judged(unlike).action) == (Blame.PLATFORM, Action.EXCLUDE)


def test_a_contained_memory_error_needs_no_other_node() -> None:
    dying = worker(0, "CUDA error: uncorrectable ECC error encountered")
    contained = kernel("n0", "NVRM: Xid (PCI:0000:3b:00): 94, pid=4, name=python, Contained")
    found = really(failure(dying, nodes=(contained,), ran_s=4000))
    assert (found.blame, found.action, found.nodes) == (Blame.HARDWARE, Action.RETRY, ())
    assert really(failure(dying, ran_s=4000)).nodes == ("n0",)


FULL_OF_OTHERS = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "Process 9 has 70.10 GiB memory in use. Process 12 has 6.00 GiB memory in use."
)


def test_a_card_full_of_anothers_memory_is_the_nodes_and_of_its_own_the_jobs() -> None:
    one = really(failure(worker(0, FULL_OF_OTHERS), worker(1, "", code=143, after=4), ran_s=60))
    assert (one.rule, one.nodes) == ("gpu.foreign_process", ("n0",))
    every = really(failure(*(worker(r, FULL_OF_OTHERS) for r in (0, 1)), ran_s=60))
    assert (every.blame, every.action) == (Blame.USER, Action.STOP)


def test_a_broken_checkpoint_is_not_sure_to_come_again_where_one_before_it_is_whole() -> None:
    dying = worker(tail="PytorchStreamReader failed: failed finding central directory")
    found = (CheckpointFound(name="b", complete=False), CheckpointFound(name="a"))
    whole = CheckpointFolder(path="/c", found=found)
    assert really(failure(dying, checkpoint=whole)).kind is Kind.TRANSIENT
    assert really(failure(dying)).kind is Kind.EITHER


@pytest.mark.parametrize(
    ("path", "ranks", "blame"),
    [
        ("/local/x", 2, Blame.USER),
        ("/local/x", 1, Blame.STORAGE),
        ("/ckpt/x", 2, Blame.STORAGE),
    ],
)
def test_local_disks_that_are_full_on_every_node_were_filled_by_the_job(
    path: str, ranks: int, blame: Blame
) -> None:
    full = f"OSError: [Errno 28] No space left on device: '{path}'"
    told = (worker(rank, full if rank < ranks else "", after=rank) for rank in (0, 1))
    assert really(failure(*told, ran_s=9000)).blame is blame


def test_a_file_that_one_worker_cannot_parse_in_a_library_may_be_half_written() -> None:
    tail = (
        'Traceback (most recent call last):\n  File "/x/site-packages/c.py", line 9, in f\n'
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    )
    alone = failure(worker(0, tail), worker(1, "", code=143, after=4), ran_s=60)
    assert really(alone).action is Action.RETRY_ONCE
    assert really(failure(worker(0, tail), worker(1, tail), ran_s=60)).action is Action.STOP


RAISED = 'Traceback (most recent call last):\n  File "{path}", line 9, in f\nValueError: no'


@pytest.mark.parametrize(
    ("path", "action"),
    [("/x/site-packages/torch/cache.py", Action.RETRY_ONCE), ("/workspace/t.py", Action.STOP)],
)
def test_what_a_library_raises_on_one_worker_alone_may_be_a_race(path: str, action: Action) -> None:
    tail = RAISED.format(path=path)
    alone = failure(worker(0, tail), worker(1, "", code=143, after=4), ran_s=60)
    assert judged(alone).action is action
    assert judged(failure(worker(0, tail), worker(1, tail), ran_s=60)).action is Action.STOP


# --- one node after another --------------------------------------------------------------------


@pytest.mark.parametrize("before", [WANDERS - 1, WANDERS])
def test_what_is_blamed_on_one_node_after_another_is_left_to_a_person(before: int) -> None:
    others = ("", "", "")
    dying = failure(worker(0, "Stale file handle"), *map(worker, (1, 2, 3), others), ran_s=900)
    first = judged(dying)
    assert first.nodes == ("n0",)
    earlier = tuple(
        Earlier(first.fingerprint, first.rule, ("n0", "n1"), f"x{n}", 0, START)
        for n in range(before)
    )
    known = Faults(fingerprint=first.fingerprint, count=before, nodes=("n1",))
    found = judged(replace(dying, earlier=earlier, faults=known))
    assert (found.action is Action.HOLD) is (before == WANDERS)
    assert (found.nodes == ()) is (before == WANDERS)


ECC = "CUDA error: uncorrectable ECC error encountered {word}"


def _moved(*nodes: str, word: str = "", steps: tuple[int, ...] = ()) -> Diagnosis:
    """Return the last judgement of a job whose worker says this on one node after another."""
    earlier: list[Earlier] = []
    known: Faults | None = None
    found = Diagnosis()
    for number, node in enumerate(nodes):
        step = steps[number] if steps else 5
        told = ECC.format(word=word * number)
        dying = failure(
            worker(0, told, node=node),
            worker(1, "", node="m1"),
            ran_s=900,
            step=step,
            faults=known,
            earlier=tuple(earlier),
        )
        found = judged(dying)
        earlier.append(Earlier(found.fingerprint, found.rule, found.nodes, node, step, START))
        known = after_failure(known, found.fingerprint, step, {node, "m1"})
    return found


@pytest.mark.parametrize(
    ("nodes", "held"),
    [
        pytest.param(("n1", "n2"), False, id="two may be broken alike"),
        pytest.param(("n1", "n2", "n3"), True, id="three are not"),
        pytest.param(("n1", "n2", "n1"), True, id="two that take turns are not"),
    ],
)
@pytest.mark.parametrize("word", ["", "x"])
def test_a_line_of_its_own_output_cannot_move_a_job_for_ever(
    nodes: tuple[str, ...], held: bool, word: str
) -> None:
    found = _moved(*nodes, word=word)
    assert (found.action is Action.HOLD) is held
    assert (found.nodes == ()) is held


def test_progress_between_makes_no_row() -> None:
    assert _moved("n1", "n2", "n3", steps=(5, 6, 7)).nodes == ("n3",)
    assert _moved("n1", "n2", "n3", "n4", steps=(5, 6, 6, 6)).action is Action.HOLD


def test_what_the_kernel_says_of_each_node_moves_on() -> None:
    earlier = tuple(Earlier("f", "xid.79", (node,), node, 5, START) for node in ("x1", "x2", "x3"))
    dying = failure(worker(0, ""), nodes=(kernel("n0", "Xid: 79"),), step=5, earlier=earlier)
    assert judged(dying).nodes == ("n0",)


@pytest.mark.parametrize(
    ("elsewhere", "nodes"),
    [
        (Elsewhere(jobs=2, users=2, nodes=("n0", "n7")), ()),
        (Elsewhere(jobs=2, users=2, nodes=("n7",)), ()),
        (Elsewhere(jobs=1, users=1, incident="storage-x"), ()),
        (Elsewhere(jobs=2, users=2, nodes=("n0",)), ("n0",)),
        (Elsewhere(jobs=2, users=1, nodes=("n7",)), ("n0",)),
    ],
)
def test_no_node_is_to_blame_for_what_goes_on_in_other_jobs_elsewhere(
    elsewhere: Elsewhere, nodes: tuple[str, ...]
) -> None:
    dying = (worker(0, "Stale file handle"), worker(1), worker(2))
    found = judged(failure(*dying, ran_s=900, elsewhere=elsewhere))
    assert found.nodes == nodes
    assert found.action is (Action.EXCLUDE if nodes else Action.RETRY)


def test_what_a_machine_reports_of_itself_is_its_own_whatever_goes_on_elsewhere() -> None:
    many = Elsewhere(jobs=5, users=5, nodes=("n7", "n8"))
    dying = failure(worker(0, ""), nodes=(kernel("n0", "Xid: 79"),), elsewhere=many)
    assert judged(dying).nodes == ("n0",)


@pytest.mark.parametrize("before", [PASSING - 1, PASSING])
def test_what_was_to_pass_and_does_not_is_left_to_a_person(before: int) -> None:
    dying = failure(worker(0, "503 Service Unavailable"), ran_s=900)
    known = Faults(fingerprint=judged(dying).fingerprint, count=before, nodes=("n0",))
    held = judged(replace(dying, faults=known)).action is Action.HOLD
    assert held is (before == PASSING)
    moved = judged(replace(dying, faults=known, step=5)).action
    assert moved is not Action.HOLD
