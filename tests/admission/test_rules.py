"""Rules of more than one field, and the shapes of single ones, at both sides of each limit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.contracts.checking import check
from muster.domain.rules import RULES
from muster.domain.spec import JobSpec
from muster.domain.spec_rules import violations_of
from muster.domain.violations import Violation


def judge(**changes: Any) -> list[Violation]:
    """Everything wrong with a specification, as admission finds it."""
    base: dict[str, Any] = {
        "name": "train",
        "image": "registry/train:1",
        "command": ["python", "train.py"],
        "resource": {"type": "reserved"},
    }
    spec, shape = check(JobSpec, json.dumps(base | changes), "$.spec")
    return shape if spec is None else list(violations_of(spec))


def codes(**changes: Any) -> list[tuple[str, str]]:
    return [(found.code, found.path.removeprefix("$.spec.")) for found in judge(**changes)]


QUEUE = {"enabled": True, "max_queue_hours": 1, "max_requeues": 0}
RAY = {"type": "RayJob", "resource": {"type": "reserved", "replicas": 2}}
IDLE = {"type": "idle"}

GOOD: list[dict[str, Any]] = [
    {},
    {"name": "a" * 40},
    {"type": "pytorchjob"},
    {"auto_queue": QUEUE},
    {"auto_queue": {**QUEUE, "max_queue_hours": 12, "max_requeues": 3}},
    {"auto_queue": {"enabled": True, "max_queue_hours": 1, "max_retries": 3}},
    {"resource": IDLE},
    {"resource": {**IDLE, "stability_level": "high"}},
    {"resource": {"type": "spot", "priority": 1}},
    {"resource": {"type": "reserved", "priority": "high", "guarantee": True}},
    {"resource": {"type": "reserved", "priority": 99}},
    {"node_policy": {"type": "NodeIn", "nodes": ["n"]}},
    {"node_policy": {"type": "NodeNotIn", "nodes": [f"n{i}" for i in range(100)]}},
    {"fault_tolerance": {"enabled": True, "max_retries": 99, "exit_codes": "1,200-205,255"}},
    {"fault_tolerance": {"enabled": True, "hang": {"action": "restart", "window_s": 300}}},
    {**RAY, "debug": {"enabled": True, "hold_seconds": 0}},
    {**RAY, "debug": {"enabled": True, "hold_seconds": 60}},
    {**RAY, "debug": {"enabled": True, "hold_seconds": 86400}},
    {**RAY, "ray": {"autoscaling": {"min": 2, "max": 2}}},
    {"environment": [{"name": "A", "value": "x" * 4096}]},
    {"environment": [{"name": "A", "secret_ref": {"secret": "s", "key": "k"}}]},
    {"labels": {"团队 a": "b/c"}},
    {"command": ["sh", "-c", "a\n\tb"], "description": "one\ntwo"},
    {"environment": [{"name": "A", "value": "one\ntwo\x1b[0m"}]},
    {"metrics": {"port": 65535, "path": "/metrics"}},
    {"storage": [{"volume": "v", "mount_path": "/data"}]},
    {"max_runtime_s": 1, "grace_s": 600},
    {"resource": {"gpu_milli_per_replica": 1}},
    {"resource": {"gpu_milli_per_replica": 999, "replicas": 3}},
    {"resource": {"gpu_milli_per_replica": 0, "gpus_per_replica": 1}},
    {"resource": {**IDLE, "gpu_milli_per_replica": 500}},
    {**RAY, "resource": {"gpu_milli_per_replica": 500}, "ray": {"head": {"gpus": 1}}},
    {"resource": {"gpu_model": "A100"}},
    {"resource": {"gpu_model": "A100|NVIDIA H100 80GB"}},
    {"resource": {"gpu_model": "|".join(f"m{n}" for n in range(16))}},
    {"resource": {"gpu_model": "m" * 64}},
    {"locality": {"level": "node"}},
    {"locality": {"level": "zone", "mode": "required"}},
    {"locality": {"level": "topology.example.com/switch"}},
    {"locality": {"level": "a" * 63}},
    {"locality": {"level": f"{'d' * 253}/{'k' * 63}"}},
    {"tolerations": []},
    {"tolerations": [{}]},
    {"tolerations": [{"key": "dedicated"}, {"key": "example.com/gpu", "value": ""}]},
    {"tolerations": [{"key": "dedicated", "value": "v" * 63}]},
    {"tolerations": [{"key": f"k{n}"} for n in range(20)]},
]


@pytest.mark.parametrize("changes", GOOD, ids=lambda c: json.dumps(c, ensure_ascii=False)[:60])
def test_what_the_rules_allow_is_admitted(changes: dict[str, Any]) -> None:
    assert codes(**changes) == []


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "a" * 41}, "E_NAME_INVALID", "name"),
    ({"name": "Train"}, "E_NAME_INVALID", "name"),
    ({"name": "a-"}, "E_NAME_INVALID", "name"),
    ({"type": "TFJob"}, "E_JOB_TYPE", "type"),
    ({"image": ""}, "E_IMAGE", "image"),
    ({"command": []}, "E_COMMAND", "command"),
    ({"command": "python train.py"}, "E_COMMAND", "command"),
    ({"resource": {"type": "cheap"}}, "E_RESOURCE_TYPE", "resource.type"),
    ({"resource": {"replicas": 0}}, "E_REPLICAS", "resource.replicas"),
    ({"resource": {"replicas": True}}, "E_REPLICAS", "resource.replicas"),
    ({"resource": {"replicas": "2"}}, "E_REPLICAS", "resource.replicas"),
    ({"resource": {"gpus_per_replica": -1}}, "E_SPEC", "resource.gpus_per_replica"),
    ({"resource": {"priority": 0}}, "E_PRIORITY", "resource.priority"),
    ({"resource": {"priority": 100}}, "E_PRIORITY", "resource.priority"),
    ({"resource": {"priority": "urgent"}}, "E_PRIORITY", "resource.priority"),
    ({"resource": {**IDLE, "priority": 5}}, "E_IDLE_PRIORITY", "resource.priority"),
    ({"resource": {**IDLE, "guarantee": True}}, "E_IDLE_GUARANTEE", "resource.guarantee"),
    ({"resource": {"type": "spot", "guarantee": True}}, "E_SPOT_GUARANTEE", "resource.guarantee"),
    ({"resource": {"stability_level": "low"}}, "E_STABILITY_LEVEL", "resource.stability_level"),
    (
        {"auto_queue": {**QUEUE, "max_queue_hours": 0}},
        "E_MAX_QUEUE_HOURS",
        "auto_queue.max_queue_hours",
    ),
    (
        {"auto_queue": {**QUEUE, "max_queue_hours": 13}},
        "E_MAX_QUEUE_HOURS",
        "auto_queue.max_queue_hours",
    ),
    (
        {"auto_queue": {**QUEUE, "max_queue_hours": 1.5}},
        "E_MAX_QUEUE_HOURS",
        "auto_queue.max_queue_hours",
    ),
    (
        {"auto_queue": {"enabled": True, "max_requeues": 0}},
        "E_MAX_QUEUE_HOURS",
        "auto_queue.max_queue_hours",
    ),
    ({"auto_queue": {**QUEUE, "max_requeues": -1}}, "E_MAX_REQUEUES", "auto_queue.max_requeues"),
    ({"auto_queue": {**QUEUE, "max_requeues": 4}}, "E_MAX_REQUEUES", "auto_queue.max_requeues"),
    ({"auto_queue": {"max_requeues": 0}}, "E_AUTO_QUEUE_OFF", "auto_queue"),
    ({"node_policy": {"type": "Only", "nodes": ["n"]}}, "E_NODE_POLICY", "node_policy.type"),
    ({"node_policy": {"type": "NodeIn", "nodes": []}}, "E_NODES_EMPTY", "node_policy.nodes"),
    (
        {"node_policy": {"type": "NodeIn", "nodes": [f"n{i}" for i in range(101)]}},
        "E_NODES_EMPTY",
        "node_policy.nodes",
    ),
    (
        {"node_policy": {"type": "NodeIn", "nodes": ["n", "n"]}},
        "E_NODES_DUP",
        "node_policy.nodes[1]",
    ),
    (
        {"fault_tolerance": {"enabled": True, "max_retries": 100}},
        "E_MAX_RETRIES",
        "fault_tolerance.max_retries",
    ),
    (
        {"fault_tolerance": {"enabled": True, "exit_codes": "0-5"}},
        "E_EXIT_CODES",
        "fault_tolerance.exit_codes",
    ),
    (
        {"fault_tolerance": {"enabled": True, "exit_codes": "256"}},
        "E_EXIT_CODES",
        "fault_tolerance.exit_codes",
    ),
    (
        {"fault_tolerance": {"enabled": True, "exit_codes": "9-1"}},
        "E_EXIT_CODES",
        "fault_tolerance.exit_codes",
    ),
    ({"fault_tolerance": {"exit_codes": "1"}}, "E_FAULT_NOOP", "fault_tolerance"),
    (
        {"fault_tolerance": {"enabled": True, "strategy": "always", "max_retries": 4}},
        "E_FAULT_ALWAYS",
        "fault_tolerance.max_retries",
    ),
    (
        {"fault_tolerance": {"enabled": True, "hang": {"window_s": 299}}},
        "E_HANG",
        "fault_tolerance.hang.window_s",
    ),
    ({"fault_tolerance": {"hang": {"action": "restart"}}}, "E_HANG", "fault_tolerance.hang.action"),
    ({"debug": {"enabled": True}}, "E_DEBUG_HOLD", "debug"),
    ({**RAY, "debug": {"enabled": True, "hold_seconds": 59}}, "E_DEBUG_HOLD", "debug.hold_seconds"),
    (
        {**RAY, "debug": {"enabled": True, "hold_seconds": 86401}},
        "E_DEBUG_HOLD",
        "debug.hold_seconds",
    ),
    ({"ray": {}}, "E_RAY_ONLY", "ray"),
    ({**RAY, "ray": {"autoscaling": {"min": 3, "max": 4}}}, "E_RAY_RANGE", "ray.autoscaling"),
    ({"environment": [{"name": "A", "value": "x" * 4097}]}, "E_ENV_LIMIT", "environment[0].value"),
    ({"environment": [{"name": "1A", "value": ""}]}, "E_ENV_NAME", "environment[0].name"),
    (
        {"environment": [{"name": "kubernetes_x", "value": ""}]},
        "E_ENV_RESERVED",
        "environment[0].name",
    ),
    ({"environment": [{"name": "RANK", "value": "0"}]}, "E_ENV_PLATFORM", "environment[0].name"),
    ({"environment": [{"name": "A"}]}, "E_ENV_VALUE", "environment[0]"),
    ({"environment": [{"name": "A", "value": ""}] * 2}, "E_ENV_DUP", "environment[1].name"),
    ({"labels": {"_sys_x": "1"}}, "E_LABEL_FORMAT", "labels"),
    ({"labels": {" a": "1"}}, "E_LABEL_FORMAT", "labels"),
    ({"metrics": {"port": 65536, "path": "/m"}}, "E_METRICS", "metrics.port"),
    ({"metrics": {"port": 1, "path": "/../m"}}, "E_METRICS", "metrics.path"),
    (
        {"storage": [{"volume": "v", "mount_path": "/x/.."}]},
        "E_MOUNT_CONFLICT",
        "storage[0].mount_path",
    ),
    (
        {"storage": [{"volume": "v", "mount_path": "/d", "public": True, "output": True}]},
        "E_PUBLIC_DATA_OUTPUT",
        "storage[0].output",
    ),
    (
        {"notifications": [{"trigger": ["job_failed"], "channel": "c"}]},
        "E_RULE_TRIGGER",
        "notifications[0].trigger",
    ),
    (
        {"resource": {"gpu_milli_per_replica": -1}},
        "E_GPU_SHARE",
        "resource.gpu_milli_per_replica",
    ),
    (
        {"resource": {"gpu_milli_per_replica": 1000}},
        "E_GPU_SHARE",
        "resource.gpu_milli_per_replica",
    ),
    (
        {"resource": {"gpu_milli_per_replica": 0.5}},
        "E_GPU_SHARE",
        "resource.gpu_milli_per_replica",
    ),
    (
        {"resource": {"gpu_milli_per_replica": True}},
        "E_GPU_SHARE",
        "resource.gpu_milli_per_replica",
    ),
    (
        {"resource": {"gpu_milli_per_replica": 1, "gpus_per_replica": 1}},
        "E_GPU_SHARE_WHOLE",
        "resource.gpu_milli_per_replica",
    ),
    ({"resource": {"gpu_model": ""}}, "E_GPU_MODEL", "resource.gpu_model"),
    ({"resource": {"gpu_model": "A100|"}}, "E_GPU_MODEL", "resource.gpu_model"),
    ({"resource": {"gpu_model": "A100||H100"}}, "E_GPU_MODEL", "resource.gpu_model"),
    ({"resource": {"gpu_model": "A100 | H100"}}, "E_GPU_MODEL", "resource.gpu_model"),
    ({"resource": {"gpu_model": "A100|A100"}}, "E_GPU_MODEL", "resource.gpu_model"),
    ({"resource": {"gpu_model": "m" * 65}}, "E_GPU_MODEL", "resource.gpu_model"),
    (
        {"resource": {"gpu_model": "|".join(f"m{n}" for n in range(17))}},
        "E_GPU_MODEL",
        "resource.gpu_model",
    ),
    ({"locality": {"level": ""}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "a" * 64}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": f"{'d' * 254}/k"}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "l" * 318}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "Example.com/switch"}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "same switch"}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "switch-"}}, "E_LOCALITY_LEVEL", "locality.level"),
    ({"locality": {"level": "node", "mode": "strict"}}, "E_LOCALITY_MODE", "locality.mode"),
    ({"tolerations": [{"key": ""}]}, "E_TOLERATION", "tolerations[0].key"),
    ({"tolerations": [{}, {"key": "a b"}]}, "E_TOLERATION", "tolerations[1].key"),
    ({"tolerations": [{"value": "x"}]}, "E_TOLERATION", "tolerations[0].value"),
    ({"tolerations": [{"key": "k", "value": "v" * 64}]}, "E_TOLERATION", "tolerations[0].value"),
    ({"tolerations": [{"key": "k", "value": "a b"}]}, "E_TOLERATION", "tolerations[0].value"),
    ({"tolerations": [{"key": f"k{n}"} for n in range(21)]}, "E_TOLERATIONS", "tolerations"),
    ({"tolerations": "all"}, "E_TOLERATIONS", "tolerations"),
    ({"progress": {"step": ["tick"]}}, "E_PROGRESS_LINE", "progress.step[0]"),
    ({"progress": {"step": ["x #"]}}, "E_PROGRESS_LINE", "progress.step[0]"),
    ({"progress": {"step": ["tick # of #"]}}, "E_PROGRESS_LINE", "progress.step[0]"),
    ({"progress": {"step": ["tick " + "*" * 9 + "#"]}}, "E_PROGRESS_LINE", "progress.step[0]"),
    ({"progress": {"step": ["tick #" * 50]}}, "E_PROGRESS_LINE", "progress.step[0]"),
    ({"progress": {"step": ["tick #"] * 9}}, "E_PROGRESS_LINE", "progress.step"),
    ({"progress": {"step": "tick #"}}, "E_PROGRESS_LINE", "progress.step"),
    (
        {"progress": {"checkpoint_saved": ["tick #", "done"]}},
        "E_PROGRESS_LINE",
        "progress.checkpoint_saved[1]",
    ),
    (
        {"progress": {"checkpoint_loaded": ["***"]}},
        "E_PROGRESS_LINE",
        "progress.checkpoint_loaded[0]",
    ),
    ({"progress": {"loaded": ["tick #"]}}, "E_UNKNOWN_FIELD", "progress.loaded"),
    ({"surprise": 1}, "E_UNKNOWN_FIELD", "surprise"),
    ({"resource": {"replica": 2}}, "E_UNKNOWN_FIELD", "resource.replica"),
]


@pytest.mark.parametrize(("changes", "code", "path"), BAD, ids=lambda v: str(v)[:50])
def test_what_breaks_a_rule_is_named_with_its_field(
    changes: dict[str, Any], code: str, path: str
) -> None:
    assert (code, path) in codes(**changes)


def test_every_violation_is_reported_at_once() -> None:
    found = codes(name="A", image="", resource={"type": "x", "replicas": 0}, surprise=1)
    assert len(found) == 5


def test_what_is_wrong_about_cards_places_and_taints_is_told_together() -> None:
    found = codes(
        resource={"gpus_per_replica": 1, "gpu_milli_per_replica": 500, "gpu_model": "A|A"},
        locality={"level": "not a key"},
        tolerations=[{"value": "x"}, {"key": "/"}],
    )
    assert found == [
        ("E_GPU_SHARE_WHOLE", "resource.gpu_milli_per_replica"),
        ("E_GPU_MODEL", "resource.gpu_model"),
        ("E_LOCALITY_LEVEL", "locality.level"),
        ("E_TOLERATION", "tolerations[0].value"),
        ("E_TOLERATION", "tolerations[1].key"),
    ]


def test_a_misspelt_field_gets_a_hint_in_both_languages() -> None:
    (found,) = judge(resource={"replica": 2})
    assert "did you mean replicas?" in found.en
    assert "是否应为 replicas" in found.zh


def test_the_value_of_a_variable_is_never_repeated() -> None:
    found = judge(environment=[{"name": "TOKEN", "value": "hunter2" * 700}])
    assert found
    assert "hunter2" not in "".join(each.model_dump_json() for each in found)


def test_every_rule_has_words_in_both_languages() -> None:
    for code, (english, chinese) in RULES.items():
        assert english, code
        assert any("\u4e00" <= char <= "\u9fff" for char in chinese), code


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"command": ["a", "b\x00c"]}, "command[1]"),
        ({"environment": [{"name": "A", "value": "x\x00"}]}, "environment[0].value"),
        ({"description": "a\x00"}, "description"),
        ({"image": "python:3\x1b[31m"}, "image"),
        ({"image": "python\n"}, "image"),
        ({"storage": [{"volume": "v", "mount_path": "/a\nb"}]}, "storage[0].mount_path"),
        ({"storage": [{"volume": "v\x07", "mount_path": "/a"}]}, "storage[0].volume"),
        ({"checkpoint_dir": "/a\x00"}, "checkpoint_dir"),
        ({"resource": {"gpu_model": "A\x7f100"}}, "resource.gpu_model"),
        ({"resource": {"extended": {"rdma\x00": 1}}}, "resource.extended"),
    ],
)
def test_control_characters_are_refused_at_the_door(changes: dict[str, Any], path: str) -> None:
    assert codes(**changes) == [("E_TEXT", path)]
