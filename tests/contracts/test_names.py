"""Names in subjects: what may stand there, both sides of the limits, and one meaning for each."""

from __future__ import annotations

import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.contracts import subjects as s
from muster.contracts.alarms import Alarm
from muster.contracts.subjects import BadSubject
from muster.domain.edges import Owner
from muster.domain.state import DeadlineKind
from tests.support.lives import START

GOOD = ["a", "Z", "0", "-", "_", "a-b_c", "x" * 128]
BAD = ["", "x" * 129, "a.b", "a b", "*", ">", "a*", "ä", "a\n", "\na", "a\r", "a\x00", "$SYS", "１"]

BUILT: dict[str, Callable[[str], object]] = {
    "tenant of a job": lambda name: s.job_key(name, "j"),
    "job": lambda name: s.job_key("t", name),
    "pool of a node": lambda name: s.node_key(name, "n"),
    "pool": lambda name: s.pool_key(name, "epoch"),
    "cluster": lambda name: s.cluster_key(name, "epoch"),
    "tenant of a request": lambda name: s.request_subject(name, "stop"),
    "verb": lambda name: s.request_subject("t", name),
    "tenant of an answer": lambda name: s.answer_subject(name, "r"),
    "request": lambda name: s.answer_subject("t", name),
    "tenant of a status": lambda name: s.status_subject(name, "j"),
    "job of a status": lambda name: s.status_subject("t", name),
    "tenant of statuses": s.status_pattern,
    "job of output": lambda name: s.logs_subject("t", name, "worker-0"),
    "pool of nodes": s.nodes_pattern,
    "owner of a timer": lambda name: s.timer_subject(name, "queue", "t", "j"),
    "kind of an alarm": lambda name: s.alarm_subject("requeue", name, "t", "j"),
    "stream": lambda name: s.parked_subject(name, "c"),
    "consumer": lambda name: s.parked_subject("s", name),
}


@pytest.mark.parametrize("build", BUILT.values(), ids=list(BUILT))
def test_every_subject_is_built_from_tokens(build: Callable[[str], object]) -> None:
    for name in GOOD:
        assert name in str(build(name))
    for name in BAD:
        with pytest.raises(BadSubject, match="is not a token"):
            build(name)


@pytest.mark.parametrize(
    ("subject", "kind", "names", "event"),
    [
        ("jobs.t.j.scheduled", "job", ("t", "j"), "scheduled"),
        ("pools.p.nodes.n1.joined", "node", ("p", "n1"), "joined"),
        ("pools.p.nodes.gpu-7_2erack_5f3.joined", "node", ("p", "gpu-7.rack_3"), "joined"),
        ("pools.nodes.nodes.nodes.lost", "node", ("nodes", "nodes"), "lost"),
        ("pools.p.decided", "pool", ("p",), "decided"),
        ("clusters.c.epoch", "cluster", ("c",), "epoch"),
        ("requests.t.stop", "request", ("t",), "stop"),
    ],
)
def test_what_a_subject_means(subject: str, kind: str, names: tuple[str, ...], event: str) -> None:
    address = s.parse(subject)
    assert (address.kind, address.names, address.event) == (kind, names, event)
    if kind != "request":
        assert address.key.subject(event) == subject


@pytest.mark.parametrize(
    "subject",
    [
        "jobs.t.j",
        "jobs.t.j.e.x",
        "jobs..j.e",
        "jobs.t.*.e",
        "jobs.t.j.>",
        "jobs.t.j.",
        "jobs.t.j\n.e",
        "pools.p",
        "pools.p.nodes.n",
        "pools.p.nodes..joined",
        "pools.p.nodes.*.joined",
        "pools.p.nodes.a b.joined",
        "pools.p.other.n.joined",
        "clusters.c.nodes.n.joined",
        "requests.t",
        "answers.t.r",
        "status.t.j",
        "timers.requeue.queue.t.j",
        "Jobs.t.j.e",
        " jobs.t.j.e",
    ],
)
def test_what_means_nothing_is_refused(subject: str) -> None:
    with pytest.raises(BadSubject):
        s.parse(subject)


# --- names of nodes ----------------------------------------------------------------------------

ESCAPED = [
    ("n1", "n1"),
    ("N-1", "N-1"),
    ("a_b", "a_5fb"),
    ("a.b", "a_2eb"),
    ("a b", "a_20b"),
    ("ü", "_c3_bc"),
    ("_", "_5f"),
    ("_5f", "_5f5f"),
    ("节", "_e8_8a_82"),
]


@pytest.mark.parametrize(("name", "text"), ESCAPED)
def test_how_a_name_is_escaped(name: str, text: str) -> None:
    assert (s.escape(name), s.unescape(text)) == (text, name)


@given(st.text(min_size=1))
def test_any_name_becomes_a_part_of_a_subject_and_comes_back(name: str) -> None:
    text = s.escape(name)
    assert set(text) <= set(string.ascii_letters + string.digits + "-_")
    assert s.unescape(text) == name


@given(st.text())
def test_a_text_is_the_token_of_one_name_or_of_none(text: str) -> None:
    """Two subjects must never be one node: whoever conditions a write would miss the other."""
    try:
        name = s.unescape(text)
    except BadSubject:
        return
    assert s.escape(name) == text


@pytest.mark.parametrize("name", ["", "\ud800", "a\udfff"])
def test_what_is_no_name_cannot_be_escaped(name: str) -> None:
    with pytest.raises(BadSubject):
        s.escape(name)
    with pytest.raises(BadSubject):
        s.node_key("p", name)


@pytest.mark.parametrize(
    "text", ["", "_", "a_", "_2E", "_41", "_5", "_ff", "_c3", "a b", "é", "\ud800"]
)
def test_what_no_name_becomes_is_refused(text: str) -> None:
    with pytest.raises(BadSubject):
        s.unescape(text)


# --- conditions --------------------------------------------------------------------------------


def test_a_condition_covers_every_fact_about_its_key_and_nothing_else() -> None:
    key = s.job_key("acme", "j1")
    assert (key.condition, key.subject("started")) == ("jobs.acme.j1.>", "jobs.acme.j1.started")
    node = s.node_key("p", "n.1")
    assert (node.condition, node.subject("lost")) == (
        "pools.p.nodes.n_2e1.>",
        "pools.p.nodes.n_2e1.lost",
    )


@pytest.mark.parametrize("event", ["epoch", "decided", "summary", "fragments", "stability"])
def test_a_fact_about_a_pool_is_conditioned_on_its_own_kind_alone(event: str) -> None:
    key = s.pool_key("p", event)
    assert key.condition == key.subject(event) == f"pools.p.{event}"
    assert s.cluster_key("c", "epoch").condition == "clusters.c.epoch"


def test_a_node_s_condition_is_no_other_node_s() -> None:
    names = ["a", "a.b", "a_2eb", "a_b", "a-b", "A"]
    assert len({s.node_key("p", name).condition for name in names}) == len(names)


# --- patterns and alarms -----------------------------------------------------------------------


def test_patterns_name_one_or_all() -> None:
    assert s.status_pattern() == "status.*.*"
    assert s.status_pattern("t") == "status.t.*"
    assert s.status_pattern("t", "j") == "status.t.j"
    assert (s.nodes_pattern(), s.nodes_pattern("p")) == ("pools.*.nodes.>", "pools.p.nodes.>")
    assert s.logs_pattern("t", "j") == "logs.t.j.*"
    assert s.logs_pattern("t", "j", "worker-0") == s.logs_subject("t", "j", "worker-0")
    assert s.logs_subject("t", "j", "head.0") == "logs.t.j.head_2e0"
    assert s.answer_subject("t", "r") == "answers.t.r"
    assert s.parked_subject("FACTS", "requeue-jobs") == "parked.FACTS.requeue-jobs"


def test_a_job_has_one_alarm_of_a_kind() -> None:
    def alarm(version: int) -> Alarm:
        return Alarm(
            owner=Owner.FAULT_TOLERANCE,
            kind=DeadlineKind.VERDICT,
            tenant="acme",
            job="j1",
            version=version,
            at=START,
        )

    assert alarm(1).waits_on == alarm(2).waits_on == "timers.fault-tolerance.verdict.acme.j1"
    assert alarm(1).rings_on == "alarms.fault-tolerance.verdict.acme.j1"
