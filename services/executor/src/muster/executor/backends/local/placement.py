"""Which port an attempt meets at.

`launching` calls it while it holds the lock, and writes the choice down before anything is started.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from muster.domain.errors import Temporary

LOOPBACK = "127.0.0.1"
PORTS = range(20_000, 30_000)
"""Below the range from which Linux and macOS give ports to outgoing connections."""


def free_port(taken: Collection[int]) -> int:
    """Return a loopback port that nobody listens on and no other attempt was given."""
    for port in random.sample(PORTS, len(PORTS)):
        if port not in taken and _unused(port):
            return port
    raise Temporary(f"no free port on {LOOPBACK} from {PORTS.start} to {PORTS.stop - 1}", delay=5.0)


def _unused(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
