"""The same in many jobs, on many nodes: none is to blame, all wait, and one incident is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.diagnosis import Action, Blame, Diagnosis, EvidenceLine, Source
from muster.domain.faults import Faults
from muster.domain.incidents import IncidentKind, incident_id
from muster.domain.state import JobState
from muster.fault_tolerance.core import incidents as i
from muster.fault_tolerance.core.attributed import (
    Attributed,
    Machine,
    Mark,
    Shared,
    attributed,
    exonerates,
    shared_path,
)
from muster.fault_tolerance.core.backoff import wait
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Failure
from muster.fault_tolerance.core.verdict import judge
from muster.fault_tolerance.judging.others import Others
from tests.fault_tolerance.failures import BOOK, failure, kernel, worker
from tests.fault_tolerance.fleets import NFS, NOW, failed
from tests.fault_tolerance.stage import Stage
from tests.support.lives import START, Life, spec

STALE = "OSError: [Errno 116] Stale file handle: '/mnt/shared/data/{name}'"
ECC = "uncorrectable ECC error"
SHARED, RULE = Mark(Shared.PATH, "/mnt/shared"), Mark(Shared.RULE, "fs.stale")
ON_PATH = incident_id(IncidentKind.STORAGE, "/mnt/shared")
ALIKE = incident_id(IncidentKind.ALIKE, "fs.stale")


def place(name: str) -> Mark:
    return Mark(Shared.NODE, name)


# --- what a failure tells that others may have, too --------------------------------------------


def dying(tail: str, node: str = "n1", **more: object) -> Failure:
    first = worker(0, tail, node=node)
    return failure(first, worker(1, node="m1"), worker(2, node="m2"), ran_s=900, **more)


def kept(found: Failure, *marks: Mark) -> Attributed:
    return attributed(found, diagnose(found, BOOK, found.at), "default", marks)


def test_a_line_tells_its_path_its_rule_and_where_it_showed() -> None:
    told = kept(dying(STALE.format(name="a.bin")), NFS)
    assert set(told.marks) == {NFS, SHARED, RULE, place("n1")}


@pytest.mark.parametrize(
    ("found", "marks"),
    [
        (dying(ECC), {Mark(Shared.RULE, "gpu.ecc"), place("n1")}),
        (dying("", nodes=(kernel("n1", "Xid: 79"),)), {place("n1")}),
        (dying("No space left on device: '/mnt/shared/x'"), {SHARED, place("n1")}),
        (dying("No space left on device"), {place("n1")}),
        (dying("KeyError: '/mnt/shared/x'"), {place("n1")}),
        (dying("nothing known: /mnt/shared/x"), {place("n1")}),
    ],
)
def test_nothing_that_is_a_machines_or_a_persons_own(found: Failure, marks: set[Mark]) -> None:
    assert set(kept(found).marks) == marks


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Stale file handle: '/mnt/shared/data/a.bin'", "/mnt/shared"),
        ("cannot read /data: stale", "/data"),
        ("'/workspace/x' -> '/mnt/shared/y'", "/mnt/shared"),
        ("nfs: server 10.0.0.1:/export/a not responding", "/export/a"),
        ("'/tmp/x' and '/dev/shm/y'", None),
        ("GET s3://bucket/key failed, 3/4 done", None),
    ],
)
def test_a_path_is_as_deep_as_file_systems_are_mounted(line: str, path: str | None) -> None:
    assert shared_path(line) == path


@pytest.mark.parametrize(
    ("rule", "lesson", "held"),
    [
        ("gpu.ecc", None, True),
        ("gpu.ecc", "history.again_here", True),
        ("gpu.ecc", "history.other_jobs", False),
        (None, None, False),
    ],
)
def test_only_what_is_known_is_held_against_a_machine(
    rule: str | None, lesson: str | None, held: bool
) -> None:
    line = EvidenceLine(source=Source.HISTORY, text="x", rule=lesson)
    diagnosis = Diagnosis(
        rule=rule,
        blame=Blame.HARDWARE,
        action=Action.EXCLUDE,
        nodes=("n1",),
        evidence=(line,) if lesson else (),
    )
    told = attributed(failure(worker(node="n1")), diagnosis, "default")
    assert bool(told.machines) is held


# --- incidents ---------------------------------------------------------------------------------


def begun(*failures: Attributed) -> list[tuple[str, str]]:
    seen = i.opened(i.gathered(failures, NOW))
    return [(each.mark.kind.value, each.mark.name) for each in seen]


def three(*marks: Mark, places: tuple[str, ...] = ("n1", "n2", "n1")) -> list[Attributed]:
    users = ("ann", "bob", "ann")
    return [
        failed(f"j{n}", users[n], marks=(*marks, place(where))) for n, where in enumerate(places)
    ]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(three(SHARED, RULE), [("path", "/mnt/shared")], id="a path before a rule"),
        pytest.param(three(RULE), [("rule", "fs.stale")], id="a rule alone"),
        pytest.param(three(NFS, SHARED, RULE), [("storage", "nfs-1")], id="what jobs declare"),
        pytest.param(three(SHARED, RULE, places=("n1",) * 3), [], id="one node"),
        pytest.param(three(SHARED, RULE)[:2], [], id="two jobs"),
    ],
)
def test_what_many_jobs_tell_alike_on_several_nodes_is_one_incident(
    failures: list[Attributed], expected: list[tuple[str, str]]
) -> None:
    assert begun(*failures) == expected


def test_a_rule_is_an_incident_of_its_own_where_a_path_explains_less_than_most() -> None:
    others = [failed(f"k{n}", f"u{n}", marks=(RULE, place(f"n{n}"))) for n in range(3)]
    assert begun(*three(SHARED, RULE), *others[:2]) == [("path", "/mnt/shared")]
    both = [("path", "/mnt/shared"), ("rule", "fs.stale")]
    assert begun(*three(SHARED, RULE), *others) == both


def test_an_incident_of_alike_failures_is_told_in_words() -> None:
    seen = i.opened(i.gathered(three(RULE), NOW))
    fact = i.next_fact(None, NOW, seen[0])
    assert fact is not None
    assert (fact.incident.id, fact.incident.kind.pauses) == (ALIKE, True)
    assert "fs.stale: 3 jobs of 2 users" in fact.incident.en
    assert "fs.stale" in fact.incident.zh


# --- through the database and the log ----------------------------------------------------------


def faulted(job: str = "j1") -> JobState:
    tolerant = {"enabled": True, "max_retries": 2}
    return Life(spec(fault_tolerance=tolerant), name=job).faulted().state


async def judged(stage: Stage, job: str, user: str, node: str, attempt: int = 1) -> f.Judged:
    """Judge a job whose worker cannot read a shared mount on this node."""
    replica = stage.replicas[0]
    others = Others(replica.around, replica.troubles)
    state = faulted(job).model_copy(update={"attempt": attempt})
    tail = STALE.format(name=job)
    found = dying(tail, node, tenant="acme", job=job, user=user, attempt=attempt)
    found = replace(found, at=stage.at)
    held = diagnose(found, BOOK, found.at)
    found = await others.at_the_same_time(state, found, held, ())
    fact = judge(state, found, BOOK, stage.at)
    assert fact is not None
    return fact


async def test_a_stale_mount_that_no_job_declares_is_one_incident_and_no_storm() -> None:
    stage = Stage()
    await stage.pool_of(3)
    jobs = [("j1", "ann", "n1"), ("j2", "bob", "n2"), ("j3", "eve", "n1"), ("j4", "ann", "n2")]
    facts = []
    for each in jobs:
        facts.append(await judged(stage, *each))
        stage.later(seconds=2)
    for fact in facts:  # nobody comes back at once
        assert isinstance(fact, f.ReplacementOrdered)
        assert fact.not_before is not None
        assert fact.not_before - stage.at > timedelta(seconds=20)
    for fact in facts[2:]:  # and who is explained pays nothing, and leaves no node
        assert isinstance(fact, f.ReplacementOrdered)
        assert (fact.cause, fact.infrastructure) == (EvictionCause.BACKOFF, False)
        assert fact.diagnosis is not None
        assert (fact.diagnosis.nodes, fact.diagnosis.incident) == ((), ON_PATH)
    assert await stage.events(subjects.incident_key(ON_PATH)) == ["opened", "updated"]
    assert await stage.incident(ALIKE) is None
    asked = await stage.replicas[0].around.records("default", ["n1", "n2"], ("t", "other"))
    assert [record.jobs for record in asked] == [0, 0]


async def test_what_wanders_is_held_against_none_of_its_nodes() -> None:
    stage = Stage()
    around = stage.replicas[0].around
    soft = failed("j1", rule="gpu.ecc", blame=Blame.HARDWARE, marks=())
    for number in (1, 2):
        await around.record(replace(soft, attempt=number, machines=(Machine(f"n{number}"),)))
    hard = replace(soft, attempt=3, hard=True, machines=(Machine("n3"),))
    other = replace(soft, job="j2", machines=(Machine("n1"),))
    for each in (hard, other, replace(soft, attempt=4, rule="x", machines=(Machine("n2"),))):
        await around.record(each)
    await around.exonerate(replace(soft, attempt=5))
    found = await around.records("default", ["n1", "n2", "n3"], ("t", "nobody"))
    assert [[rule for rule, _ in record.last] for record in found] == [
        ["gpu.ecc"],
        ["x"],
        ["gpu.ecc"],
    ]


async def test_a_job_that_wanders_exonerates_when_it_is_judged() -> None:
    stage = Stage()
    replica = stage.replicas[0]
    state = faulted()
    for number, node in enumerate(("n1", "n2"), start=1):
        found = dying(ECC, node, tenant="acme", attempt=number)
        await replica.around.record(kept(replace(found, at=stage.at)))
    earlier = tuple(Earlier("x", "gpu.ecc", (node,), node, 0, START) for node in ("n1", "n2"))
    found = replace(dying(ECC, "n3", tenant="acme", attempt=3, earlier=earlier), at=stage.at)
    held = diagnose(found, BOOK, found.at)
    assert held.action is Action.HOLD
    assert exonerates(held)
    others = Others(replica.around, replica.troubles)
    await others.at_the_same_time(state, found, held, ())
    asked = await replica.around.records("default", ["n1", "n2", "n3"], ("t", "other"))
    assert [record.jobs for record in asked] == [0, 0, 0]


async def test_other_jobs_tell_where_they_failed() -> None:
    stage = Stage()
    around = stage.replicas[0].around
    for job, where in (("j1", "n1"), ("j2", "n2"), ("mine", "n3")):
        await around.record(failed(job, job, marks=(RULE, place(where)), at=stage.at))
    found = await around.elsewhere(("t", "mine"), (RULE,), rule="storage.stale")
    assert (found.jobs, found.nodes) == (2, ("n1", "n2"))


# --- the wait before another node --------------------------------------------------------------


@pytest.mark.parametrize(
    ("blame", "again", "least_s"),
    [
        (Blame.STORAGE, 0, 30),
        (Blame.STORAGE, 2, 120),
        (Blame.HARDWARE, 0, 0),
        (Blame.HARDWARE, 1, 10),
        (Blame.HARDWARE, 3, 40),
    ],
)
def test_each_wait_is_longer(blame: Blame, again: int, least_s: float) -> None:
    found = wait(blame, again, "k").total_seconds()
    assert least_s <= found <= least_s * 1.25


@pytest.mark.parametrize(
    ("tail", "count", "least_s"),
    [(STALE, 0, 30), (STALE, 1, 60), (ECC, 0, None), (ECC, 1, 10), (ECC, 2, 20)],
)
def test_another_node_is_tried_after_a_wait(tail: str, count: int, least_s: float | None) -> None:
    state = faulted()
    found = dying(tail)
    name = diagnose(found, BOOK, found.at).fingerprint
    known = Faults(fingerprint=name, count=count, nodes=("n1", "m1", "m2")) if count else None
    fact = judge(state, replace(found, faults=known), BOOK, NOW)
    assert isinstance(fact, f.ReplacementOrdered)
    assert fact.avoid == ("n1",)
    if least_s is None:
        assert fact.not_before is None
    else:
        assert fact.not_before is not None
        assert fact.not_before - NOW >= timedelta(seconds=least_s)


def test_a_lost_node_is_left_at_once() -> None:
    state = faulted()
    lost = failure(worker(0, code=None, cause="node_lost"))
    fact = judge(state, lost, BOOK, NOW)
    assert isinstance(fact, f.ReplacementOrdered)
    assert (fact.cause, fact.not_before) == (EvictionCause.NODE_LOST, None)
