"""The shape of a specification: both sides of every limit, and what travels on as the demand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from muster.domain.auto_queue import queue_limits
from muster.domain.demand import JobType, NodePolicyType, QueueLimits, ResourceClass, Role
from muster.domain.spec import JobSpec, exit_codes, priority_of
from tests.support.lives import auto_queue, spec

BASE: dict[str, Any] = {"name": "train", "image": "i", "command": ["run"], "resource": {}}
QUEUE = "auto_queue"
FAULTS = "fault_tolerance"


def document(path: str, value: object) -> str:
    """The smallest specification, with one value at a path such as `resource.replicas`."""
    found: dict[str, Any] = json.loads(json.dumps(BASE))
    *parents, last = path.split(".")
    here = found
    for parent in parents:
        here = here.setdefault(parent, {})
    here[last] = value
    return json.dumps(found)


LIMITS: dict[str, tuple[list[object], list[object]]] = {
    "name": (
        ["a", "a" * 40, "a-1", "a1"],
        ["", "A", "1a", "-a", "a-", "a_b", "a" * 41, "a\n", None, 7],
    ),
    "display_name": (["任务", "x" * 128, None], ["", "x" * 129, 7]),
    "description": (["", "x" * 4096], ["x" * 4097]),
    "type": (["PyTorchJob", "pytorchjob", "RAYJOB", "RayJob"], ["Ray", "", None, 1]),
    "image": (["x", "x" * 512], ["", "x" * 513, None]),
    "command": ([["a"], [""], ["a", "b"]], [[], "a", [1], None]),
    "resource.type": (["reserved", "on_demand", "spot", "idle"], ["Spot", "free", None]),
    "resource.pool": (["default", "x" * 128], ["", "a.b", "a b", "x" * 129, "a\n"]),
    "resource.replicas": ([1, 4096], [0, 4097, -1, 1.5, "1", True, None]),
    "resource.gpus_per_replica": ([0, 64], [-1, 65, 0.5, True]),
    "resource.cpus_per_replica": ([0, 0.5, 4096], [-0.5, 4097, "1", float("inf"), float("nan")]),
    "resource.memory_mib_per_replica": ([0, 10**9], [-1, 0.5]),
    "resource.extended": ([{}, {"rdma/hca": 2}], [{"rdma/hca": -1}, {"rdma/hca": "2"}, []]),
    "resource.priority": (
        ["low", "normal", "high", 1, 99, None],
        [0, 100, "HIGH", "50", 1.0, True],
    ),
    "resource.guarantee": ([True, False], [1, "true", None]),
    "resource.stability_level": (["low", "medium", "high", None], ["", "LOW"]),
    f"{QUEUE}.enabled": ([True, False], [1, "yes"]),
    f"{QUEUE}.max_queue_hours": ([1, 12, None], [0, 13, 1.5, "2", True]),
    f"{QUEUE}.max_requeues": ([0, 3, None], [-1, 4, 1.0, "1", False]),
    f"{QUEUE}.max_retries": ([0, 3], [-1, 4]),
    "node_policy": (
        [{"type": "NodeIn", "nodes": ["a"]}, {"type": "NodeNotIn", "nodes": ["n"] * 100}],
        [
            {"type": "nodeIn", "nodes": ["a"]},
            {"type": "NodeIn", "nodes": []},
            {"type": "NodeIn", "nodes": ["n"] * 101},
            {"type": "NodeIn"},
        ],
    ),
    f"{FAULTS}.max_retries": ([0, 99], [-1, 100]),
    f"{FAULTS}.strategy": (["on_failure", "exit_codes", "log_keywords", "always"], ["never"]),
    f"{FAULTS}.exit_codes": (
        ["1", "1,200-205", "255"],
        ["", ",", "1,", "1-", "-1", "1 ,2", "1000", "x"],
    ),
    f"{FAULTS}.log_keywords": (
        [[], ["abc"], ["x" * 200] * 20],
        [["ab"], ["x" * 201], ["abc"] * 21],
    ),
    f"{FAULTS}.hang": (
        [{}, {"action": "notify", "window_s": 300}, {"action": "restart", "window_s": 86400}],
        [{"action": "kill"}, {"window_s": 299}, {"window_s": 86401}],
    ),
    "debug.hold_seconds": ([0, 60, 600, 86400], [1, 59, 86401, -60]),
    "environment": (
        [[], [{"name": "A_1", "value": ""}], [{"name": "A", "value": "x" * 4096}]],
        [
            [{"name": "1A", "value": "x"}],
            [{"name": "A-B", "value": "x"}],
            [{"name": "", "value": "x"}],
            [{"name": "A" * 257, "value": "x"}],
            [{"name": "A", "value": "x" * 4097}],
            [{"name": "A", "value": 1}],
            [{"value": "x"}],
            [{"name": "A"}] * 101,
        ],
    ),
    "storage": (
        [[{"volume": "v", "mount_path": "/data"}]],
        [[{"volume": "v", "mount_path": "data"}], [{"volume": "v", "mount_path": "/"}]],
    ),
    "labels": ([{}, {"a": "b"}], [{"a": 1}, ["a"]]),
    "metrics": (
        [{"port": 1, "path": "/"}, {"port": 65535, "path": "/metrics"}, None],
        [{"port": 0, "path": "/"}, {"port": 65536, "path": "/"}, {"port": 1}, {"path": "/"}],
    ),
    "notifications": (
        [[], [{"trigger": "job_queued", "channel": "ops"}]],
        [
            [{"trigger": "job_gone", "channel": "ops"}],
            [{"trigger": ["job_queued"], "channel": "ops"}],
            [{"channel": "ops"}],
        ],
    ),
    "max_runtime_s": ([1, 315_360_000, None], [0, 315_360_001, 1.5]),
    "start_deadline_s": ([1, 900, 86400], [0, 86401]),
    "grace_s": ([1, 30, 600], [0, 601]),
    "ray.head.gpus": ([0, 64], [-1, 65]),
    "ray.head.cpus": ([0, 4096], [-1, 4097, float("inf"), float("nan")]),
    "ray.autoscaling": (
        [{"min": 0, "max": 0}, {"min": 1, "max": 4, "idle_timeout_s": 10, "mode": "Aggressive"}],
        [{"min": -1, "max": 1}, {"min": 1}, {"min": 0, "max": 1, "idle_timeout_s": 9}],
    ),
    "ray.runtime_env": (["", "x" * 65536], ["x" * 65537, {}]),
    "surprise": ([], [1]),
    "resource.surprise": ([], [1]),
}  # fmt: skip
"""path -> what is allowed there, what is refused."""


@pytest.mark.parametrize("path", LIMITS)
def test_what_a_field_takes_and_what_it_refuses(path: str) -> None:
    good, bad = LIMITS[path]
    for value in good:
        JobSpec.model_validate_json(document(path, value))
    assert [value for value in bad if _taken(path, value)] == []


def _taken(path: str, value: object) -> bool:
    try:
        JobSpec.model_validate_json(document(path, value))
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("missing", list(BASE))
def test_what_a_specification_must_have(missing: str) -> None:
    rest = {name: value for name, value in BASE.items() if name != missing}
    with pytest.raises(ValidationError):
        JobSpec.model_validate_json(json.dumps(rest))


def test_the_defaults_are_those_of_the_product() -> None:
    found = JobSpec.model_validate_json(json.dumps(BASE))
    assert (found.type, found.resource.type) == (JobType.PYTORCH, ResourceClass.RESERVED)
    assert not found.auto_queue.enabled
    assert not found.fault_tolerance.enabled
    assert (found.debug.enabled, found.debug.hold_seconds) == (False, 600)
    assert (found.grace_s, found.start_deadline_s, found.max_runtime_s) == (30, 900, None)


@pytest.mark.parametrize("path", sorted(set(LIMITS) - {"surprise", "resource.surprise"}))
def test_every_specification_comes_back_from_json(path: str) -> None:
    for value in LIMITS[path][0]:
        found = JobSpec.model_validate_json(document(path, value))
        assert JobSpec.model_validate_json(found.model_dump_json(exclude_none=True)) == found


def test_the_alias_of_the_requeues_is_read_and_never_written() -> None:
    found = JobSpec.model_validate_json(document(f"{QUEUE}.max_retries", 2))
    assert found.auto_queue.max_requeues == 2
    assert "max_retries" not in json.loads(found.model_dump_json())[QUEUE]


# --- demand ------------------------------------------------------------------------------------


def test_a_plain_job_asks_for_its_workers() -> None:
    demand = spec(
        resource={
            "type": "on_demand",
            "replicas": 3,
            "gpus_per_replica": 4,
            "gpu_model": "H100",
            "cpus_per_replica": 8,
            "memory_mib_per_replica": 1024,
            "extended": {"rdma/hca": 1},
            "zone": "west",
        },
        node_policy={"type": "NodeNotIn", "nodes": ["n9"]},
        fault_tolerance={"enabled": True, "max_retries": 5, "exit_codes": "1,200-205"},
        auto_queue=auto_queue(hours=4, requeues=2),
        grace_s=45,
        start_deadline_s=100,
        max_runtime_s=1000,
    ).demand()
    worker = Role(
        name="worker",
        replicas=3,
        gpus=4,
        gpu_model="H100",
        cpus=8,
        memory_mib=1024,
        extended={"rdma/hca": 1},
    )
    assert demand.roles == (worker,)
    assert demand.workers == ("worker-0", "worker-1", "worker-2")
    assert (demand.gpus, demand.zone) == (12, "west")
    assert (demand.max_restarts, demand.restart_exit_codes) == (5, ((1, 1), (200, 205)))
    assert (demand.grace_s, demand.start_deadline_s, demand.max_runtime_s) == (45, 100, 1000)
    assert demand.queue == QueueLimits(max_queue_hours=4, max_requeues=2)
    policy = demand.node_policy
    assert policy is not None
    assert policy.type is NodePolicyType.NODE_NOT_IN
    assert [policy.allows(node) for node in ("n9", "n1")] == [False, True]


def test_a_ray_job_is_its_head_and_its_workers() -> None:
    demand = spec(
        type="RayJob",
        resource={"replicas": 2, "gpus_per_replica": 4, "gpu_model": "H100"},
        ray={"head": {"cpus": 4, "memory_mib": 2048}},
    ).demand()
    head, workers = demand.roles
    assert (head.name, head.replicas, head.gpus, head.gpu_model) == ("head", 1, 0, None)
    assert (head.cpus, head.memory_mib) == (4, 2048)
    assert (workers.name, workers.replicas, workers.gpus) == ("worker", 2, 4)
    assert demand.workers == ("head-0", "worker-0", "worker-1")
    assert (demand.role_of("head-0"), demand.role_of("worker-1")) == (head, workers)
    with pytest.raises(KeyError):
        demand.role_of("submitter-0")


def test_a_head_with_gpus_needs_the_model_of_its_workers() -> None:
    resource = {"replicas": 1, "gpus_per_replica": 8, "gpu_model": "H100"}
    demand = spec(type="RayJob", resource=resource, ray={"head": {"gpus": 1}}).demand()
    assert [role.gpu_model for role in demand.roles] == ["H100", "H100"]
    assert demand.gpus == 9


def test_a_ray_job_without_a_word_about_its_head_has_one() -> None:
    demand = spec(type="RayJob", resource={"replicas": 1}).demand()
    assert demand.workers == ("head-0", "worker-0")


@pytest.mark.parametrize(
    ("word", "number"), [("low", 10), ("normal", 50), ("high", 90), (None, 50), (1, 1), (99, 99)]
)
def test_the_number_of_a_priority(word: str | int | None, number: int) -> None:
    assert priority_of(word) == number
    job = spec(resource={"type": "reserved", "priority": word})
    assert job.demand().priority == number


def test_an_idle_job_has_no_priority() -> None:
    job = spec(resource={"type": "idle", "stability_level": "high"})
    assert (job.demand().priority, job.demand().stability_level) == (None, "high")


def test_idle_goes_before_spot_and_spot_before_the_rest() -> None:
    kinds = ("idle", "spot", "reserved", "on_demand")
    assert [spec(resource={"type": kind}).demand().tier for kind in kinds] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        (None, ()),
        ("", ()),
        ("1", ((1, 1),)),
        ("1,2", ((1, 1), (2, 2))),
        ("200-205", ((200, 205),)),
        ("1,200-205,255", ((1, 1), (200, 205), (255, 255))),
    ],
)
def test_exit_codes_are_inclusive_ranges(
    text: str | None, ranges: tuple[tuple[int, int], ...]
) -> None:
    assert exit_codes(text) == ranges


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ({}, None),
        ({"enabled": True, "max_queue_hours": 1, "max_requeues": 0}, (1, 0)),
        ({"enabled": True, "max_queue_hours": 12, "max_requeues": 3}, (12, 3)),
        ({"enabled": False, "max_queue_hours": 1, "max_requeues": 0}, None),
    ],
)
def test_queue_limits_count_only_when_auto_queue_is_on(
    values: dict[str, Any], limits: tuple[int, int] | None
) -> None:
    found = queue_limits(spec(auto_queue=values).auto_queue)
    assert (found and (found.max_queue_hours, found.max_requeues)) == limits


@pytest.mark.parametrize(("on", "seconds"), [(True, 60), (False, 0)])
def test_a_hold_needs_debugging_to_be_on(*, on: bool, seconds: int) -> None:
    job = spec(type="RayJob", debug={"enabled": on, "hold_seconds": 60})
    assert job.demand().debug_hold_s == seconds


@pytest.mark.parametrize(("on", "restarts"), [(True, 3), (False, 0)])
def test_restarts_need_fault_tolerance_to_be_on(*, on: bool, restarts: int) -> None:
    assert spec(fault_tolerance={"enabled": on}).demand().max_restarts == restarts
