"""What outside systems may ask for: every model, its limits, and an identity that is told twice."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from muster.contracts.requests import (
    REQUESTS,
    Answer,
    NodeRequest,
    RequestHead,
    job_id,
    request_type,
)
from muster.contracts.subjects import job_key
from muster.domain.violations import Violation
from tests.domain.model_strategies import TOKENS
from tests.support.lives import START

QUEUE = {"enabled": True, "max_queue_hours": 2, "max_requeues": 1}
POLICY = {"type": "NodeIn", "nodes": ["n1"]}
ONE_JOB = {"user": "ann", "job": "j1"}
ONE_TENANT = {"user": "ann", "tenant": "acme"}
ONE_NODE = {"user": "ann", "pool": "default", "node": "gpu-7.rack"}

STOCK = {"user": "ann", "zone": "z1", "gpu_model": "H100"}
GOOD: dict[str, list[dict[str, Any]]] = {
    "submit": [{"user": "ann", "spec": {}}, {"user": "张伟", "spec": {"anything": [1, None]}}],
    "stop": [ONE_JOB],
    "debug": [ONE_JOB],
    "resume": [ONE_JOB, ONE_JOB | {"auto_queue": QUEUE}],
    "respecify": [ONE_JOB, ONE_JOB | {"auto_queue": QUEUE, "node_policy": POLICY}],
    "prioritise": [ONE_JOB | {"priority": "high"}, ONE_JOB | {"priority": 1}],
    "relabel": [ONE_JOB | {"labels": {}}, ONE_JOB | {"labels": {"team": "视觉"}}],
    "reclaim_node": [ONE_NODE | {"notice_s": 0}, ONE_NODE | {"notice_s": 86400}, ONE_NODE],
    "cordon_node": [ONE_NODE],
    "uncordon_node": [ONE_NODE, {"user": "ann", "node": "n" * 253}],
    "drain_node": [ONE_NODE],
    "fence_node": [ONE_NODE],
    "close_incident": [{"user": "ann", "incident": "storage-nfs-1-0a1b2c3d"}],
    "set_stock": [STOCK | {"gpus": 0}, STOCK, STOCK | {"gpus": 8, "price": 1.5, "currency": "CNY"}],
    "set_quota": [
        ONE_TENANT | {"shares": [{"gpu_model": "A100", "guaranteed": 8, "ceiling": 16}]},
        ONE_TENANT | {"shares": [], "whole": True},
    ],
    "set_blocklist": [
        ONE_TENANT | {"add": ["n1"]},
        ONE_TENANT | {"only_user": "bob", "remove": ["gpu-7.rack"]},
    ],
    "set_spot": [ONE_TENANT | {"enabled": False}, ONE_TENANT | {"enabled": True, "pool": "west"}],
}
BAD: dict[str, list[dict[str, Any]]] = {
    "submit": [{"user": "ann"}, {"user": "ann", "spec": []}, {"user": "ann", "spec": "{}"}],
    "debug": [{"user": "ann"}, ONE_JOB | {"command": ["sh"]}],
    "stop": [{"user": "ann"}, ONE_JOB | {"job": "a.b"}, ONE_JOB | {"job": "x" * 129}],
    "resume": [ONE_JOB | {"auto_queue": {"max_queue_hours": 13}}],
    "respecify": [ONE_JOB | {"node_policy": {"type": "NodeIn", "nodes": []}}],
    "prioritise": [ONE_JOB, ONE_JOB | {"priority": 100}, ONE_JOB | {"priority": True}],
    "relabel": [ONE_JOB, ONE_JOB | {"labels": {"team": 1}}],
    "reclaim_node": [ONE_NODE | {"notice_s": -1}, ONE_NODE | {"notice_s": 86401}],
    "cordon_node": [{"user": "ann"}, ONE_NODE | {"node": ""}, ONE_NODE | {"node": "n" * 254}],
    "uncordon_node": [ONE_NODE | {"pool": "a b"}],
    "drain_node": [ONE_NODE | {"notice_s": 1}],
    "fence_node": [ONE_NODE | {"node": 7}],
    "close_incident": [{"user": "ann"}, {"user": "ann", "incident": "a.b"}],
    "set_stock": [STOCK | {"gpus": -1}, STOCK | {"zone": ""}, STOCK | {"currency": "yuan"}],
    "set_quota": [
        {"user": "ann"},
        ONE_TENANT | {"shares": [{"guaranteed": 8}]},
        ONE_TENANT | {"shares": [{"gpu_model": "A100", "guaranteed": -1}]},
        ONE_TENANT | {"shares": [{"gpu_model": "A100", "weight": 2}]},
    ],
    "set_blocklist": [ONE_TENANT | {"add": [""]}, ONE_TENANT | {"pool": "a b"}],
    "set_spot": [ONE_TENANT, ONE_TENANT | {"enabled": "no"}, {"user": "ann", "enabled": True}],
}


def test_the_tables_speak_of_every_verb() -> None:
    assert set(REQUESTS) == set(GOOD) == set(BAD)


@pytest.mark.parametrize("verb", sorted(GOOD))
def test_a_request_comes_back_as_it_was_sent(verb: str) -> None:
    model = REQUESTS[verb]
    for values in GOOD[verb]:
        request = model.model_validate_json(json.dumps(values))
        text = request.model_dump_json(exclude_none=True)
        assert model.model_validate_json(text) == request
    assert request_type(verb, model.version) == f"muster.request.{verb}.v1"


@pytest.mark.parametrize("verb", sorted(BAD))
def test_what_a_request_refuses(verb: str) -> None:
    common: list[dict[str, Any]] = [
        {"user": ""},
        {"user": "x" * 129},
        {"user": None},
        {"user": 7},
        {"surprise": 1},
    ]
    broken = [GOOD[verb][0] | changes for changes in common]
    broken.append({key: value for key, value in GOOD[verb][0].items() if key != "user"})
    assert [values for values in [*BAD[verb], *broken] if _taken(verb, values)] == []


def _taken(verb: str, values: dict[str, Any]) -> bool:
    try:
        REQUESTS[verb].model_validate_json(json.dumps(values))
    except ValidationError:
        return False
    return True


def test_a_node_is_in_the_default_pool_unless_it_is_said() -> None:
    request = REQUESTS["cordon_node"].model_validate({"user": "ann", "node": "n1"})
    assert isinstance(request, NodeRequest)
    assert request.pool == "default"


# --- identity ----------------------------------------------------------------------------------


def test_the_id_of_a_job_is_the_same_for_ever() -> None:
    """Requests told again after an upgrade must still be the same job."""
    assert job_id("acme", "r-1") == "j5c5c8b66c61b2c0fbed"


@given(tenant=TOKENS, request=TOKENS)
def test_an_id_can_stand_in_a_subject_and_in_the_names_of_a_cluster(
    tenant: str, request: str
) -> None:
    job = job_id(tenant, request)
    assert re.fullmatch(r"j[0-9a-f]{19}", job)
    assert job_key(tenant, job).prefix == f"jobs.{tenant}.{job}"
    assert job == job_id(tenant, request)


@given(one=st.tuples(TOKENS, TOKENS), other=st.tuples(TOKENS, TOKENS))
def test_two_requests_are_two_jobs(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (job_id(*one) == job_id(*other)) is (one == other)


# --- envelopes ---------------------------------------------------------------------------------

HEAD: dict[str, Any] = {
    "specversion": "1.0",
    "id": "r-1",
    "source": "ci",
    "type": "muster.request.stop.v1",
    "data": ONE_JOB,
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"subject": "requests.acme.stop", "time": "2030-01-01T00:00:00Z"},
        {"datacontenttype": "application/json", "traceparent": "00-0-0-01"},
        {"data": None},
        {"data": [1, {"deep": "x"}]},
        {"id": "x" * 128},
    ],
)
def test_a_head_that_can_be_answered(changes: dict[str, Any]) -> None:
    head = RequestHead.model_validate_json(json.dumps(HEAD | changes))
    assert head.id == (HEAD | changes)["id"]
    assert head.data == (HEAD | changes)["data"]


@pytest.mark.parametrize(
    "changes",
    [
        {"specversion": "0.3"},
        {"id": ""},
        {"id": "a.b"},
        {"id": "x" * 129},
        {"id": "a\n"},
        {"id": 7},
        {"time": "2030-01-01T00:00:00"},
        {"time": "0001-01-01T00:00:00+12:00"},
        {"datacontenttype": "text/xml"},
        {"surprise": 1},
    ],
)
def test_a_head_that_cannot_be_answered(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RequestHead.model_validate_json(json.dumps(HEAD | changes))


@pytest.mark.parametrize("missing", ["specversion", "id", "source", "type", "data"])
def test_a_head_has_all_its_fields(missing: str) -> None:
    rest = {name: value for name, value in HEAD.items() if name != missing}
    with pytest.raises(ValidationError):
        RequestHead.model_validate_json(json.dumps(rest))


def test_an_answer_comes_back_as_it_was_given() -> None:
    refusal = Violation(code="E_STATE", path="$.job", en="cannot stop", zh="不能停止")
    answer = Answer(
        request="r-1",
        tenant="acme",
        verb="stop",
        accepted=False,
        job="j1",
        phase="succeeded",
        violations=(refusal,),
        at=START,
    )
    text = answer.model_dump_json(exclude_none=True)
    assert Answer.model_validate_json(text) == answer
