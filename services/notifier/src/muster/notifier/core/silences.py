"""Silences: what nobody wants to be told for a while, by whose word, and why. Pure.

A silenced notice is written down as such and counted; it is not sent later. Called when a lane's
next message is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from muster.notifier.core.notice import Trigger


@dataclass(frozen=True, slots=True)
class Matter:
    """What a notice is about, as far as a silence may ask."""

    tenant: str
    subject: str
    rule: str
    trigger: Trigger
    owner: str = ""
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Silence:
    """Everything that is given must match; triggers: any of them, none given = all.

    In force from `start` until before `end`.
    """

    id: str
    tenant: str
    start: datetime
    end: datetime
    author: str
    comment: str
    subject: str | None = None
    rule: str | None = None
    owner: str | None = None
    triggers: tuple[Trigger, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    def covers(self, matter: Matter, now: datetime) -> bool:
        """Tell whether this must not be told now."""
        wanted = (
            (self.subject, matter.subject),
            (self.rule, matter.rule),
            (self.owner, matter.owner),
        )
        return (
            self.start <= now < self.end
            and self.tenant == matter.tenant
            and all(asked is None or asked == given for asked, given in wanted)
            and (not self.triggers or matter.trigger in self.triggers)
            and set(self.labels) <= set(matter.labels)
        )


def silenced(matter: Matter, silences: Iterable[Silence], now: datetime) -> bool:
    """Tell whether any silence covers the matter now."""
    return any(silence.covers(matter, now) for silence in silences)
