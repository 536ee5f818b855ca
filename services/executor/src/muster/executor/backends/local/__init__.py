"""Workers as processes of this machine: what `muster up`, the demo and the tests run jobs on."""

from muster.executor.backends.local.backend import LocalBackend
from muster.executor.backends.local.nodes import (
    InvalidNodes,
    NodeConfig,
    default_nodes,
    load_nodes,
    virtual_nodes,
)

__all__ = [
    "InvalidNodes",
    "LocalBackend",
    "NodeConfig",
    "default_nodes",
    "load_nodes",
    "virtual_nodes",
]
