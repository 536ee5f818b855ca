"""What a person wants of `up`; apart from what fulfils it, which takes long to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muster.cli.stack.folder import StateFolder


@dataclass(frozen=True, slots=True)
class Wishes:
    """nodes_file None: nodes are made from this machine. Ports: 0 takes a free one."""

    folder: StateFolder
    gateway_port: int
    nats_port: int
    workdir: Path
    nodes_file: Path | None = None
    rules_file: Path | None = None
    keep_nats: bool = False
    log_level: str = "INFO"
