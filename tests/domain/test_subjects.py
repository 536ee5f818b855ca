"""Subjects and keys: built and parsed in one place, for any name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.contracts import subjects as s
from muster.contracts.subjects import BadSubject
from tests.domain.model_strategies import TEXTS, TOKENS


@given(name=TEXTS.filter(bool))
def test_any_name_of_a_node_becomes_a_token_and_comes_back(name: str) -> None:
    token = s.escape(name)
    assert s.token(token[:128])
    assert s.unescape(token) == name


@given(one=TEXTS.filter(bool), other=TEXTS.filter(bool))
def test_two_names_never_share_a_token(one: str, other: str) -> None:
    assert (s.escape(one) == s.escape(other)) == (one == other)


@given(tenant=TOKENS, job=TOKENS, event=st.sampled_from(["scheduled", "released"]))
def test_a_job_subject_parses_back(tenant: str, job: str, event: str) -> None:
    key = s.job_key(tenant, job)
    address = s.parse(key.subject(event))
    assert (address.kind, address.names, address.event) == ("job", (tenant, job), event)
    assert address.key == key


@given(pool=TOKENS, node=TEXTS.filter(bool))
def test_a_node_subject_parses_back(pool: str, node: str) -> None:
    key = s.node_key(pool, node)
    address = s.parse(key.subject("joined"))
    assert (address.kind, address.names, address.key) == ("node", (pool, node), key)


@given(name=TOKENS, event=st.sampled_from(["epoch", "decided", "summary"]))
def test_a_pool_subject_parses_back(name: str, event: str) -> None:
    key = s.pool_key(name, event)
    address = s.parse(key.subject(event))
    assert (address.kind, address.names, address.key) == ("pool", (name,), key)


def test_a_condition_is_one_string_for_all_writers_of_a_job() -> None:
    assert s.job_key("t", "j").condition == "jobs.t.j.>"
    assert s.node_key("p", "n.1").condition == "pools.p.nodes.n_2e1.>"
    assert s.pool_key("p", "epoch").condition == "pools.p.epoch"


@pytest.mark.parametrize("name", ["", ".", "a.b", "a b", "*", ">", "ü", "a" * 129, "a\n"])
def test_what_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(BadSubject):
        s.job_key("t", name)


@pytest.mark.parametrize("subject", ["", "jobs", "jobs.t", "jobs.t.j", "a.b.c.d.e.f", "timers.x"])
def test_a_subject_without_meaning_is_refused(subject: str) -> None:
    with pytest.raises(BadSubject):
        s.parse(subject)


def test_a_token_that_no_name_makes_is_refused() -> None:
    with pytest.raises(BadSubject):
        s.unescape("_ff")
