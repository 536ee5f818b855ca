"""What a program outside uses: asks for something, and reads jobs, nodes, events and logs.

Speaks NATS only and needs no service's code. `MusterClient` is the whole of it; `restore` makes a
log again from an export of the archive. Everything that goes wrong is a MusterError: Temporary when
it may go right later, Permanent when not.
"""

from muster.client.answers import NoAnswer
from muster.client.client import MusterClient
from muster.client.connecting import connect
from muster.client.current import JobStatus

__all__ = ["JobStatus", "MusterClient", "NoAnswer", "connect"]
