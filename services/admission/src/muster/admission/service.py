"""The composition root of admission."""

from __future__ import annotations

from muster.admission.handlers import Handlers
from muster.admission.stream import subscriptions
from muster.domain.edges import Owner
from muster.runtime.journal import Journal
from muster.runtime.service import Runtime, Service


def build(runtime: Runtime) -> Service:
    """Put admission together over a runtime."""
    journal = Journal(Owner.ADMISSION, runtime.log, runtime.clock, runtime.ids)
    return Service(
        owner=Owner.ADMISSION,
        subscriptions=subscriptions(Handlers(journal, runtime.bus)),
    )
