"""Failures and small rulebooks that the tests of fault tolerance judge."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from muster.domain.diagnosis import Action, Advice, Blame, Kind
from muster.domain.evidence import NodeEvidence, NodeLine, Scope, WorkerEvidence
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.rules import Role, Rule, Rulebook
from tests.support.lives import START


def rule(
    name: str,
    pattern: str,
    action: Action = Action.STOP,
    *,
    blame: Blame = Blame.USER,
    kind: Kind = Kind.DETERMINISTIC,
    role: Role = Role.ROOT,
    scope: Scope = Scope.LOG,
    literal: str | None = None,
    **more: Any,
) -> Rule:
    """One rule. literal: a text in every match, where the pattern is none itself."""
    return Rule(
        id=name,
        scope=scope,
        role=role,
        blame=blame,
        kind=kind,
        action=action,
        pattern=re.compile(pattern),
        literals=((literal or pattern).lower(),),
        what=Advice(en=f"{name} in words.", zh=f"{name} 的说明。"),
        advice=Advice(en=f"mend {name}", zh=f"请修正 {name}", field="command"),
        **more,
    )


_HARDWARE: dict[str, Any] = {"blame": Blame.HARDWARE, "kind": Kind.TRANSIENT}
_NETWORK: dict[str, Any] = {"blame": Blame.NETWORK, "kind": Kind.TRANSIENT}
_OPEN: dict[str, Any] = {"blame": Blame.UNKNOWN, "kind": Kind.EITHER}

BOOK = Rulebook(
    "test-1",
    (
        rule("py.import", "ModuleNotFoundError: "),
        rule("py.key", "KeyError: ", Action.RETRY_ONCE),
        rule("cfg.parallel", "is not divisible by"),
        rule("py.value", "ValueError: ", Action.RETRY_ONCE, weak=True),
        rule("gpu.oom", "CUDA out of memory"),
        rule("gpu.oom_at_init", "CUDA error: out of memory", Action.EXCLUDE, **_HARDWARE),
        rule("gpu.ecc", "uncorrectable ECC error", Action.CORDON, **_HARDWARE),
        rule("gpu.no_driver", "no NVIDIA driver", Action.EXCLUDE, **_HARDWARE),
        rule("port.in_use", "EADDRINUSE", Action.RETRY, blame=Blame.UNKNOWN, kind=Kind.TRANSIENT),
        rule("data.loader_killed", "is killed by signal", Action.WATCH, **_OPEN),
        rule("fs.enospc", "No space left on device", Action.HOLD, blame=Blame.STORAGE),
        rule(
            "ckpt.save_fail", "unexpected pos", Action.RETRY, blame=Blame.STORAGE, kind=Kind.EITHER
        ),
        rule(
            "ckpt.corrupt",
            "central directory",
            Action.RETRY_ONCE,
            blame=Blame.STORAGE,
            kind=Kind.EITHER,
        ),
        rule(
            "fs.stale",
            "Stale file handle",
            Action.EXCLUDE,
            blame=Blame.STORAGE,
            kind=Kind.TRANSIENT,
        ),
        rule(
            "obj.5xx",
            "503 Service Unavailable",
            Action.RETRY,
            blame=Blame.STORAGE,
            kind=Kind.TRANSIENT,
        ),
        rule(
            "nccl.watchdog", "Watchdog caught collective", Action.WATCH, role=Role.CASCADE, **_OPEN
        ),
        rule(
            "nccl.remote",
            r"closed by remote peer (?P<peer>\S+)",
            Action.EXCLUDE,
            role=Role.CASCADE,
            literal="closed by remote peer",
            **_NETWORK,
        ),
        rule("nccl.socket", "Connect to peer failed", Action.RETRY, **_NETWORK),
        rule(
            "nccl.ib",
            r"retry exceeded to (?P<peer>\S+)",
            Action.EXCLUDE,
            literal="retry exceeded to",
            **_NETWORK,
        ),
        rule("td.exc", "Exception ignored in", Action.IGNORE, role=Role.TEARDOWN, **_OPEN),
        rule("xid.79", "Xid.*: 79", Action.CORDON, scope=Scope.KERNEL, literal="xid", **_HARDWARE),
        rule(
            "xid.app",
            "Xid.*: 31",
            Action.WATCH,
            role=Role.CONFIRM,
            scope=Scope.KERNEL,
            literal="xid",
            **_OPEN,
        ),
        rule(
            "kern.oom_cgroup", "Memory cgroup out of memory", role=Role.CONFIRM, scope=Scope.KERNEL
        ),
        rule("pod.oomkilled", "OOMKilled", scope=Scope.POD),
        rule(
            "pod.create_err",
            "CreateContainerError",
            Action.EXCLUDE,
            scope=Scope.POD,
            blame=Blame.PLATFORM,
            kind=Kind.TRANSIENT,
        ),
        rule(
            "pod.status_unknown", "ContainerStatusUnknown", Action.WATCH, scope=Scope.POD, **_OPEN
        ),
        rule(
            "pod.evict_api",
            "EvictionByEvictionAPI",
            Action.REQUEUE,
            scope=Scope.POD,
            blame=Blame.PLATFORM,
            kind=Kind.TRANSIENT,
        ),
        rule(
            "node.pressure",
            "The node was low on resource",
            Action.EXCLUDE,
            scope=Scope.NODE,
            blame=Blame.PLATFORM,
            kind=Kind.TRANSIENT,
        ),
        rule(
            "exit.0_partial", "exit=0 gang=partial", Action.HOLD, scope=Scope.EXIT, kind=Kind.EITHER
        ),
        rule(
            "exit.masked",
            "exit=0 tail=root_candidate",
            Action.HOLD,
            scope=Scope.EXIT,
            kind=Kind.EITHER,
        ),
        rule("exit.127", "exit=127", role=Role.CONFIRM, scope=Scope.EXIT),
        rule("exit.2", "exit=2$", role=Role.CONFIRM, scope=Scope.EXIT, literal="exit=2"),
        rule("exit.137", "exit=137", Action.WATCH, role=Role.CONFIRM, scope=Scope.EXIT, **_OPEN),
        rule("new.rule", "brand new", shadow=True),
    ),
)


def worker(
    rank: int = 0, tail: str = "", *, code: int | None = 1, after: float = 0.0, **more: Any
) -> WorkerEvidence:
    """A worker on a node of its own that ended `after` seconds after the failure began."""
    values: dict[str, Any] = {
        "worker": f"worker-{rank}",
        "node": f"n{rank}",
        "rank": rank,
        "exit_code": code,
        "started_at": START - timedelta(hours=1),
        "ended_at": START + timedelta(seconds=after),
        "tail": tail,
    }
    return WorkerEvidence(**values | more)


def alive(rank: int, tail: str = "") -> WorkerEvidence:
    """A worker that lives on."""
    return worker(rank, tail, code=None, alive=True, ended_at=None)


def failure(*workers: WorkerEvidence, **more: Any) -> Failure:
    """A failure of these workers; of one that exits with 1 if none is given."""
    values: dict[str, Any] = {
        "tenant": "acme",
        "job": "j1",
        "user": "ann",
        "attempt": 1,
        "at": START + timedelta(seconds=60),
        "workers": workers or (worker(),),
        "gpus": 8.0,
    }
    return Failure(**values | more)


def kernel(node: str, text: str, at: datetime | None = START) -> NodeEvidence:
    """A node whose kernel said something."""
    return NodeEvidence(node=node, lines=(NodeLine(scope=Scope.KERNEL, text=text, at=at),))
