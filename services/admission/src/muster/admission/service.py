"""The composition root of admission."""

from __future__ import annotations

from muster.admission.handlers import Handlers
from muster.admission.settings import AdmissionSettings
from muster.admission.stream import subscriptions
from muster.domain.edges import Owner
from muster.runtime.journal import Journal
from muster.runtime.known import Known
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service

FACTS_S = 0.5
"""Between two looks at what is new about tenants and nodes."""


def build(runtime: Runtime, settings: AdmissionSettings | None = None) -> Service:
    """Put admission together over a runtime."""
    journal = Journal(Owner.ADMISSION, runtime.log, runtime.clock, runtime.ids)
    known = Known(runtime.log)
    handlers = Handlers(journal, runtime.bus, known, settings)
    return Service(
        owner=Owner.ADMISSION,
        subscriptions=subscriptions(handlers),
        loops=(Loop("facts", known.step, FACTS_S),),
        start=handlers.start,
        stop=known.close,
    )


def main() -> None:
    """Run admission as a process of its own."""
    run(Owner.ADMISSION, build)


if __name__ == "__main__":
    main()
