"""How a written event shows that it was written on condition, and the refusal of any that does not.

The server keeps the headers of a message as they were when it checked them. An event about a job, a
node, a tenant or an incident without the condition of its key did not come from a service of
Muster: somebody published it by hand, or replayed an old one. It changes nothing; who may publish
at all is the server's matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.contracts import subjects
from muster.contracts.events import UnreadableEvent

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_FILTER = "Nats-Expected-Last-Subject-Sequence-Subject"
BATCH_SEQUENCE = "Nats-Batch-Sequence"
RESTORED = "Muster-Restored"
"""Set when a log is made again from its archive; the condition was checked in the first life."""

_CONDITIONED = frozenset({"job", "node", "tenant", "incident"})


def require_condition(subject: str, headers: Mapping[str, str]) -> None:
    """Raise UnreadableEvent for an event that was not written on condition."""
    address = subjects.parse(subject)
    if address.kind not in _CONDITIONED or RESTORED in headers:
        return
    named = headers.get(EXPECTED_FILTER)
    if named == address.key.condition:
        return
    if named is None and headers.get(BATCH_SEQUENCE, "1") != "1":
        return  # a further event of a job in one batch: the condition is on the first
    raise UnreadableEvent(f"{subject}: written without the condition on what was last there")
