"""From a parser's complaint to words for people: every violation at once, no secret repeated."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from muster.contracts import checking
from muster.contracts.checking import check, json_path
from muster.contracts.requests import REQUESTS, Prioritise, Stop
from muster.domain.rules import RULES
from muster.domain.spec import JobSpec
from muster.domain.violations import Violation

SECRET = "S3CR3T"
BASE: dict[str, Any] = {"name": "train", "image": "i", "command": ["run"], "resource": {}}


def body(**changes: object) -> str:
    """The smallest specification, changed."""
    return json.dumps(BASE | changes)


def found(text: str | bytes, model: type[BaseModel] = JobSpec) -> list[tuple[str, str]]:
    """Code and path of every violation."""
    value, violations = check(model, text, "$.spec")
    assert (value is None) is bool(violations)
    return [(violation.code, violation.path) for violation in violations]


def test_what_is_right_has_no_violation() -> None:
    spec, violations = check(JobSpec, body())
    assert (spec is not None, violations) == (True, [])


CASES: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"name": "A"}, [("E_NAME_INVALID", "$.spec.name")]),
    ({"name": None}, [("E_NAME_INVALID", "$.spec.name")]),
    ({"display_name": ""}, [("E_DISPLAY_NAME", "$.spec.display_name")]),
    ({"type": "TFJob"}, [("E_JOB_TYPE", "$.spec.type")]),
    ({"image": ""}, [("E_IMAGE", "$.spec.image")]),
    ({"command": []}, [("E_COMMAND", "$.spec.command")]),
    ({"command": ["a", 1]}, [("E_TYPE", "$.spec.command[1]")]),
    ({"command": [True]}, [("E_TYPE", "$.spec.command[0]")]),
    ({"command": "run"}, [("E_COMMAND", "$.spec.command")]),
    ({"image": "x" * 513}, [("E_TYPE", "$.spec.image")]),
    ({"resource": {"type": "free"}}, [("E_RESOURCE_TYPE", "$.spec.resource.type")]),
    ({"resource": {"replicas": 0}}, [("E_REPLICAS", "$.spec.resource.replicas")]),
    ({"resource": {"gpus_per_replica": 65}}, [("E_SPEC", "$.spec.resource.gpus_per_replica")]),
    ({"ray": {"head": {"gpus": -1}}}, [("E_SPEC", "$.spec.ray.head.gpus")]),
    ({"resource": {"priority": 100}}, [("E_PRIORITY", "$.spec.resource.priority")]),
    ({"resource": {"priority": "top"}}, [("E_PRIORITY", "$.spec.resource.priority")]),
    ({"resource": {"priority": []}}, [("E_PRIORITY", "$.spec.resource.priority")]),
    ({"resource": {"stability_level": "x"}},
     [("E_STABILITY_LEVEL", "$.spec.resource.stability_level")]),
    ({"node_policy": {"type": "In", "nodes": ["a"]}},
     [("E_NODE_POLICY", "$.spec.node_policy.type")]),
    ({"node_policy": {"type": "NodeIn", "nodes": []}},
     [("E_NODES_EMPTY", "$.spec.node_policy.nodes")]),
    ({"node_policy": {"type": "NodeIn", "nodes": ["a", 7]}},
     [("E_TYPE", "$.spec.node_policy.nodes[1]")]),
    ({"auto_queue": {"max_queue_hours": 13}},
     [("E_MAX_QUEUE_HOURS", "$.spec.auto_queue.max_queue_hours")]),
    ({"auto_queue": {"max_queue_hours": 1.5}},
     [("E_MAX_QUEUE_HOURS", "$.spec.auto_queue.max_queue_hours")]),
    ({"auto_queue": {"max_requeues": 4}}, [("E_MAX_REQUEUES", "$.spec.auto_queue.max_requeues")]),
    ({"auto_queue": {"max_retries": 4}}, [("E_MAX_REQUEUES", "$.spec.auto_queue.max_retries")]),
    ({"fault_tolerance": {"max_retries": 100}},
     [("E_MAX_RETRIES", "$.spec.fault_tolerance.max_retries")]),
    ({"fault_tolerance": {"exit_codes": "a"}},
     [("E_EXIT_CODES", "$.spec.fault_tolerance.exit_codes")]),
    ({"fault_tolerance": {"log_keywords": ["ab"]}},
     [("E_KEYWORD", "$.spec.fault_tolerance.log_keywords[0]")]),
    ({"fault_tolerance": {"hang": {"window_s": 1}}},
     [("E_HANG", "$.spec.fault_tolerance.hang.window_s")]),
    ({"debug": {"hold_seconds": 5}}, [("E_DEBUG_HOLD", "$.spec.debug.hold_seconds")]),
    ({"environment": [{"name": "1"}]}, [("E_ENV_NAME", "$.spec.environment[0].name")]),
    ({"environment": [{"name": "A", "value": "x" * 4097}]},
     [("E_ENV_LIMIT", "$.spec.environment[0].value")]),
    ({"metrics": {"port": 0, "path": "/"}}, [("E_METRICS", "$.spec.metrics.port")]),
    ({"metrics": {"port": 1, "path": "x"}}, [("E_METRICS", "$.spec.metrics.path")]),
    ({"notifications": [{"trigger": "x", "channel": "c"}]},
     [("E_RULE_TRIGGER", "$.spec.notifications[0].trigger")]),
    ({"ray": {"autoscaling": {"min": -1, "max": 1}}},
     [("E_RAY_RANGE", "$.spec.ray.autoscaling.min")]),
    ({"ray": {"autoscaling": {"min": 0, "max": 1, "idle_timeout_s": 9}}},
     [("E_RAY_IDLE", "$.spec.ray.autoscaling.idle_timeout_s")]),
    ({"ray": {"autoscaling": {"min": 0, "max": 1, "mode": "x"}}},
     [("E_RAY_MODE", "$.spec.ray.autoscaling.mode")]),
    ({"ray": {"runtime_env": 7}}, [("E_RUNTIME_ENV", "$.spec.ray.runtime_env")]),
    ({"labels": {"a": 1}}, [("E_TYPE", "$.spec.labels.a")]),
    ({"grace_s": 601}, [("E_TYPE", "$.spec.grace_s")]),
    ({"resource": {"extended": {"rdma/hca": "x"}}},
     [("E_TYPE", "$.spec.resource.extended.rdma/hca")]),
    ({"storage": [{"volume": "v"}]}, [("E_MISSING", "$.spec.storage[0].mount_path")]),
    ({"resource": []}, [("E_TYPE", "$.spec.resource")]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CASES, ids=[str(c[1][0]) for c in CASES])
def test_each_complaint_has_its_code_and_its_path(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert found(body(**changes)) == expected


def test_every_code_that_is_given_here_stands_in_the_catalogue_and_needs_no_particulars() -> None:
    for _, code in checking._CODES:
        english, chinese = RULES[code]
        assert "{" not in english + chinese


def test_all_violations_come_at_once_and_each_once() -> None:
    text = body(name="A", command=[], grace_s=0, resource={"replicas": 0, "priority": "x"}, odd=1)
    assert sorted(found(text)) == [
        ("E_COMMAND", "$.spec.command"),
        ("E_NAME_INVALID", "$.spec.name"),
        ("E_PRIORITY", "$.spec.resource.priority"),
        ("E_REPLICAS", "$.spec.resource.replicas"),
        ("E_TYPE", "$.spec.grace_s"),
        ("E_UNKNOWN_FIELD", "$.spec.odd"),
    ]


@pytest.mark.parametrize("missing", ["name", "image", "command", "resource"])
def test_what_is_missing_is_named(missing: str) -> None:
    text = json.dumps({name: value for name, value in BASE.items() if name != missing})
    [(code, path)] = found(text)
    assert path == f"$.spec.{missing}"
    own = {"name": "E_NAME_INVALID", "image": "E_IMAGE", "command": "E_COMMAND"}
    assert code == own.get(missing, "E_MISSING")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E_REQUEST"),
        ("{", "E_REQUEST"),
        ("{'name': 1}", "E_REQUEST"),
        (b"\xff\xfe", "E_REQUEST"),
        ("[" * 10**5, "E_REQUEST"),
        ("[]", "E_TYPE"),
        ("null", "E_TYPE"),
        ('"\ud800"', "E_TYPE"),
    ],
)
def test_what_is_no_document_is_one_violation_at_the_root(text: str | bytes, code: str) -> None:
    assert found(text) == [(code, "$.spec")]


# --- unknown fields ----------------------------------------------------------------------------


def unknown(text: str, model: type[BaseModel] = JobSpec) -> Violation:
    [violation] = check(model, text)[1]
    assert violation.code == "E_UNKNOWN_FIELD"
    return violation


@pytest.mark.parametrize(
    ("changes", "path", "meant"),
    [
        ({"nam": 1}, "$.nam", "name"),
        ({"enviroment": []}, "$.enviroment", "environment"),
        ({"resource": {"replica": 1}}, "$.resource.replica", "replicas"),
        ({"auto_queue": {"max_requeue": 1}}, "$.auto_queue.max_requeue", "max_requeues"),
        ({"fault_tolerance": {"hang": {"windows": 1}}},
         "$.fault_tolerance.hang.windows", "window_s"),
        ({"ray": {"head": {"cpu": 1}}}, "$.ray.head.cpu", "cpus"),
        ({"storage": [{"volume": "v", "mount_path": "/d", "readonly": True}]},
         "$.storage[0].readonly", "read_only"),
        ({"priority": 1}, "$.priority", "resource.priority"),
        ({"replicas": 1}, "$.replicas", "resource.replicas"),
        ({"gpus": 1}, "$.gpus", "resource.gpus_per_replica"),
        ({"guaranteed": True}, "$.guaranteed", "resource.guarantee"),
        ({"env": []}, "$.env", "environment"),
        ({"window_s": 1}, "$.window_s", "fault_tolerance.hang.window_s"),
        ({"max_requeues": 1}, "$.max_requeues", "auto_queue.max_requeues"),
    ],
)  # fmt: skip
def test_a_slip_of_the_pen_is_told_what_was_meant(
    changes: dict[str, Any], path: str, meant: str
) -> None:
    violation = unknown(body(**changes))
    assert violation.path == path
    assert f"did you mean {meant}?" in violation.en
    assert f"是否应为 {meant}？" in violation.zh


def test_what_resembles_nothing_is_told_what_is_known_there() -> None:
    violation = unknown(body(metrics={"port": 1, "path": "/", "zzzz": 1}))
    assert "known here: path, port" in violation.en
    assert "此处可用：path、port" in violation.zh


NAMES_OF_BRANCHES = ["int", "str", "literal", "literal_x", "constrained-int", "a,b", "f(x)", "[0]"]


@pytest.mark.parametrize("name", NAMES_OF_BRANCHES)
def test_a_field_may_be_called_as_a_parser_calls_its_own_parts(name: str) -> None:
    assert unknown(body(**{name: 1})).path == f"$.{name}"
    nested = unknown(body(resource={name: 1}))
    assert nested.path == f"$.resource.{name}"
    assert "gpus_per_replica" in nested.en or "did you mean" in nested.en
    assert found(body(labels={name: 5})) == [("E_TYPE", f"$.spec.labels.{name}")]


# --- in Chinese ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grace_s": 601}, "须不大于 600"),
        ({"grace_s": 0}, "须不小于 1"),
        ({"grace_s": "5"}, "须为整数"),
        ({"resource": {"guarantee": 1}}, "须为 true 或 false"),
        ({"resource": {"cpus_per_replica": "x"}}, "须为数字"),
        ({"resource": {"pool": "a.b"}}, "须匹配 ^[A-Za-z0-9_-]{1,128}$"),
        ({"resource": []}, "须为映射（对象）"),
        ({"labels": {"a": 1}}, "须为字符串"),
        ({"command": [True]}, "须为字符串"),
        ({"image": "x" * 513}, "最多 512 个字符"),
        ({"storage": [{"volume": "v", "mount_path": "x"}]}, "至少 2 个字符"),
        ({"storage": {}}, "须为列表"),
        ({"storage": [{"volume": "v", "mount_path": "/d"}] * 101}, "最多 100 项"),
        ({"fault_tolerance": {"strategy": "x"}},
         "须为 'on_failure'、'exit_codes'、'log_keywords' 或 'always' 之一"),
        ({"notifications": [{"trigger": "job_failed", "channel": "c", "language": "fr"}]},
         "须为 'zh' 或 'en' 之一"),
    ],
)  # fmt: skip
def test_complaints_are_told_in_chinese_with_their_limits(
    changes: dict[str, Any], words: str
) -> None:
    [violation] = check(JobSpec, body(**changes))[1]
    assert words in violation.zh
    assert not re.search(r"Input|should|String", violation.zh)


def test_broken_json_is_told_in_chinese_with_its_place() -> None:
    [violation] = check(JobSpec, "{")[1]
    assert violation.zh == "请求格式不合法：不是合法的 JSON（第 1 行第 1 列）"


@pytest.mark.parametrize("user", ["a\x00b", "a\nb", "\x1b[31mann", "a\u202eb"])
def test_a_user_has_a_name_that_can_be_shown(user: str) -> None:
    [violation] = check(Stop, json.dumps({"user": user, "job": "j1"}))[1]
    assert violation.path == "$.user"
    assert "printable" in violation.en
    assert "可见字符" in violation.zh


# --- secrets -----------------------------------------------------------------------------------

LEAKS: list[dict[str, Any]] = [
    {"environment": [{"name": "KEY", "value": [SECRET]}]},
    {"environment": [{"name": "KEY", "value": SECRET * 999}]},
    {"environment": [{"name": f"{SECRET}=", "value": SECRET}]},
    {"environment": [{"name": "KEY", "value": SECRET, "odd": SECRET}]},
    {"environment": [{"name": "KEY", "secret_ref": SECRET}]},
    {"environment": [{"name": "KEY", "secret_ref": {"secret": [SECRET], "key": 1}}]},
    {"environment": {"KEY": SECRET}},
    {"environment": SECRET},
    {"notifications": [{"trigger": SECRET, "channel": [SECRET]}]},
    {"fault_tolerance": {"strategy": SECRET, "exit_codes": SECRET}},
    {"resource": {"type": SECRET, "priority": SECRET, "pool": f"{SECRET}."}},
    {"name": SECRET, "type": SECRET, "command": {"a": SECRET}, "grace_s": SECRET},
]


@pytest.mark.parametrize("changes", LEAKS, ids=[str(list(leak)) for leak in LEAKS])
def test_no_value_is_ever_repeated(changes: dict[str, Any]) -> None:
    violations = check(JobSpec, body(**changes))[1]
    assert violations
    for violation in violations:
        assert SECRET not in violation.model_dump_json()


def test_no_part_of_broken_json_is_repeated() -> None:
    [violation] = check(JobSpec, '{"environment": [{"value": "' + SECRET)[1]
    assert SECRET not in violation.model_dump_json()


# --- any document ------------------------------------------------------------------------------

FIELDS = st.sampled_from([*JobSpec.model_fields, "type", "nodes", "int", "literal", "x", ""])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@given(document=st.dictionaries(FIELDS, ANYTHING))
@settings(max_examples=200, deadline=None)
def test_any_document_is_read_or_told_what_is_wrong(document: dict[str, Any]) -> None:
    spec, violations = check(JobSpec, json.dumps(document))
    assert (spec is None) is bool(violations)
    for violation in violations:
        assert violation.code in RULES
        assert violation.path.startswith("$")
        assert violation.en
        assert violation.zh


@given(text=st.text() | st.binary())
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_told_what_is_wrong(text: str | bytes) -> None:
    assert check(JobSpec, text)[1]


@pytest.mark.parametrize("verb", sorted(REQUESTS))
def test_a_request_of_any_verb_is_checked_the_same_way(verb: str) -> None:
    codes = dict(found("{}", REQUESTS[verb]))
    assert set(codes) <= {"E_MISSING", "E_PRIORITY"}
    assert found('{"user": ""}', REQUESTS[verb])[0] == ("E_TYPE", "$.spec.user")


def test_requests_say_where_a_value_is_wrong() -> None:
    text = '{"user": "ann", "job": "j1", "priority": 0}'
    assert found(text, Prioritise) == [("E_PRIORITY", "$.spec.priority")]
    assert found('{"user": "ann", "job": "a.b"}', Stop) == [("E_TYPE", "$.spec.job")]
    violation = unknown('{"user": "ann", "job": "j1", "jobs": 1}', Stop)
    assert "did you mean job?" in violation.en


@pytest.mark.parametrize(
    ("location", "path"),
    [((), "$"), (("a",), "$.a"), (("a", "b", 0), "$.a.b[0]"), ((0, "a"), "$[0].a")],
)
def test_a_path(location: tuple[int | str, ...], path: str) -> None:
    assert json_path("$", location) == path
