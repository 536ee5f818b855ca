"""The seven services as `muster up` runs them: in this process, on SQLite, over local processes.

The same builders as in production, with other settings; the environment's settings
(MUSTER_<SERVICE>_...) count where nothing is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from muster.admission.service import build as build_admission
from muster.domain.edges import Owner
from muster.executor.service import build as build_executor
from muster.executor.settings import ExecutorSettings
from muster.fault_tolerance.service import build as build_fault_tolerance
from muster.gateway.service import build as build_gateway
from muster.gateway.settings import GatewaySettings
from muster.notifier.service import build as build_notifier
from muster.notifier.settings import NotifierSettings
from muster.requeue.service import build as build_requeue
from muster.runtime.host import Builder
from muster.runtime.ports import LOOPBACK
from muster.runtime.settings import HostSettings
from muster.scheduler.service import build as build_scheduler


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person chose. nodes_file None: nodes are made from this machine."""

    gateway_port: int
    workdir: Path
    nodes_file: Path | None = None
    rules_file: Path | None = None


def builders(choices: Choices) -> Sequence[tuple[Owner, Builder]]:
    """Return every service, in the order in which they start."""
    local = ExecutorSettings(nodes_file=choices.nodes_file, workdir=choices.workdir)
    http = GatewaySettings(port=choices.gateway_port)
    rules = choices.rules_file or NotifierSettings().rules_file
    return (
        (Owner.ADMISSION, build_admission),
        (Owner.REQUEUE, build_requeue),
        (Owner.FAULT_TOLERANCE, build_fault_tolerance),
        (Owner.SCHEDULER, build_scheduler),
        (Owner.EXECUTOR, partial(build_executor, settings=local)),
        (Owner.NOTIFIER, partial(build_notifier, settings=NotifierSettings(rules_file=rules))),
        (Owner.GATEWAY, partial(build_gateway, settings=http)),
    )


def host_settings(state: Path, url: str) -> HostSettings:
    """Return the host's settings over the folder's own server, whatever the environment names."""
    return HostSettings(
        nats_url=SecretStr(url),
        nats_credentials=None,
        state_dir=state,
        database_url=None,
        http_host=LOOPBACK,
        http_port=0,
    )
