"""What the demo is made of: three pretended nodes, two jobs, one rule for each notice.

Pure: values for files and requests. The sizes are chosen so that the story can only go one way: the
training takes the spot node and one more, the urgent job takes the third, and nothing is left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from muster.domain.phases import Shown

TENANT, USER = "demo", "ada"
SPOT_NODE = "node-1"
NODES = (
    {"name": SPOT_NODE, "gpus": 4, "cpus": 8, "memory_mib": 8192, "spot": True},
    {"name": "node-2", "gpus": 4, "cpus": 8, "memory_mib": 8192},
    {"name": "node-3", "gpus": 4, "cpus": 8, "memory_mib": 8192},
)
TRAINING, URGENT = "spirals", "urgent"
STEPS, STEP_S = 260, 0.07
CHECKPOINT_EVERY, REPORT_EVERY = 40, 5
RECLAIM_AT = 110
"""The step of the training after which its spot node is reclaimed."""
NOTICE_S, GRACE_S = 20, 10
URGENT_STEPS, URGENT_STEP_S = 170, 0.07

TRIGGERS = ("job_queued", "job_running", "job_abnormal", "job_failed", "job_succeeded")
EXPECTED: dict[str, dict[Shown, int]] = {
    TRAINING: {Shown.QUEUED: 2, Shown.RUNNING: 2, Shown.SUCCEEDED: 1},
    URGENT: {Shown.QUEUED: 1, Shown.RUNNING: 1, Shown.SUCCEEDED: 1},
}
"""Name of the job -> state -> notices: one for each queue entry, each run, each end."""


def nodes_yaml() -> str:
    """Return the nodes of the demo's cluster."""
    return yaml.safe_dump(list(NODES), sort_keys=False)


def rules_yaml(webhook: Path, secret: Path, language: str) -> str:
    """Return the rules of notifications; address and secret are read from files."""
    address = {"webhook": {"file": str(webhook)}, "secret": {"file": str(secret)}}
    rules = [
        {
            "id": trigger.replace("_", "-"),
            "tenant": TENANT,
            "scope": "tenant",
            "trigger": trigger,
            "language": language,
            "address": "team",
        }
        for trigger in TRIGGERS
    ]
    return yaml.safe_dump({"addresses": {"team": address}, "rules": rules}, sort_keys=False)


def training(program: Path) -> dict[str, Any]:
    """Return the training: two workers on spot capacity, with auto-queue."""
    return {
        "name": TRAINING,
        "image": "local",
        "command": _command(program, STEPS, STEP_S),
        "resource": {"type": "spot", "replicas": 2, "gpus_per_replica": 3},
        "auto_queue": {"enabled": True, "max_queue_hours": 1, "max_requeues": 2},
        "grace_s": GRACE_S,
        "labels": {"story": "demo"},
    }


def urgent(program: Path) -> dict[str, Any]:
    """Return the job of higher priority that comes in between."""
    return {
        "name": URGENT,
        "image": "local",
        "command": _command(program, URGENT_STEPS, URGENT_STEP_S),
        "resource": {
            "type": "on_demand",
            "replicas": 1,
            "gpus_per_replica": 4,
            "priority": "high",
        },
        "labels": {"story": "demo"},
    }


def _command(program: Path, steps: int, step_s: float) -> list[str]:
    options = {
        "--steps": steps,
        "--step-time": step_s,
        "--checkpoint-every": CHECKPOINT_EVERY,
        "--report-every": REPORT_EVERY,
    }
    words = [word for option, value in options.items() for word in (option, str(value))]
    return ["python", str(program), *words]
