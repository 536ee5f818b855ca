"""Fault tolerance's own database: failures as they were judged, and who may restart next.

Plain synchronous functions over a connection, `database.run(partial(function, ...))`; the caller
owns the transaction and the thread. SQLite and PostgreSQL, the same statements.
"""

from muster.fault_tolerance.store.failures import absolve, elsewhere, exonerate, record, records
from muster.fault_tolerance.store.histories import clusters, histories, recent, watermark
from muster.fault_tolerance.store.keeping import forget, launched, needed, wanted
from muster.fault_tolerance.store.tables import metadata
from muster.fault_tolerance.store.tokens import Lane, take_lease, take_token

__all__ = [
    "Lane",
    "absolve",
    "clusters",
    "elsewhere",
    "exonerate",
    "forget",
    "histories",
    "launched",
    "metadata",
    "needed",
    "recent",
    "record",
    "records",
    "take_lease",
    "take_token",
    "wanted",
    "watermark",
]
