"""Incidents: many failures with one cause, as facts on `incidents.<id>.*`. Each fact is whole.

While one is open, whatever it explains is no job's fault: nobody's budget pays, retries wait, and a
pool that has fallen silent is neither emptied nor replaced. It closes by itself or on a person's
word. An id speaks of one cause; the same cause later is the same id and the next number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.edges import Owner
from muster.domain.model import Frozen, Instant, Token

NODES = 64
"""Nodes that an incident names."""


class IncidentKind(StrEnum):
    """What the failures have in common.

    alike: a rule that they match on several nodes, where nothing else is known. silence: much of a
    pool is not heard of. brake: more nodes would be kept out than may be.
    """

    STORAGE = "storage"
    REGISTRY = "registry"
    IMAGE = "image"
    SWITCH = "switch"
    ALIKE = "alike"
    SILENCE = "silence"
    BRAKE = "brake"

    @property
    def pauses(self) -> bool:
        """Whether the retries of jobs that it explains wait until it is over."""
        return self not in {IncidentKind.SILENCE, IncidentKind.BRAKE}


class Incident(Frozen):
    """One incident. name: of the storage, registry, image, switch, rule or pool.

    number: which time it is. jobs, users: so many failed by it so far. last_at: of the newest
    failure. rule: that most of them matched. closed_by: who said that it is over; None = it ended
    by itself.
    """

    id: Token
    kind: IncidentKind
    name: str
    number: int = 1
    pool: Token | None = None
    opened_at: Instant
    last_at: Instant
    closed_at: Instant | None = None
    closed_by: str | None = None
    jobs: int = 0
    users: int = 0
    rule: str | None = None
    nodes: Annotated[tuple[str, ...], Field(max_length=NODES)] = ()
    en: str = ""
    zh: str = ""
    requests: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it goes on."""
        return self.closed_at is None


class IncidentFact(Frozen):
    """Base of facts about an incident: the whole of it, as it is from here on."""

    event: ClassVar[str]
    version: ClassVar[int] = 1
    incident: Incident


class IncidentOpened(IncidentFact):
    """Many failures have one cause: what it explains waits, and costs nobody a retry."""

    event: ClassVar[str] = "opened"


class IncidentUpdated(IncidentFact):
    """It goes on: more jobs, or other nodes."""

    event: ClassVar[str] = "updated"


class IncidentClosed(IncidentFact):
    """It is over, by itself or on a person's word: what waited goes on, not all at once."""

    event: ClassVar[str] = "closed"


INCIDENT_FACTS: dict[str, type[IncidentFact]] = {
    fact.event: fact for fact in IncidentFact.__subclasses__()
}

INCIDENT_OWNERS: Mapping[str, tuple[Owner, ...]] = {
    "opened": (Owner.FAULT_TOLERANCE,),
    "updated": (Owner.FAULT_TOLERANCE,),
    "closed": (Owner.FAULT_TOLERANCE, Owner.ADMISSION),
}
"""event -> who may write it: two where an operator may say what is normally found out."""

_SHOWN = 48


def incident_id(kind: IncidentKind, name: str) -> str:
    """Return the id of incidents with this cause; it can stand in a subject, whatever the name."""
    shown = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_SHOWN]
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{kind.value}-{shown}-{digest}" if shown else f"{kind.value}-{digest}"
