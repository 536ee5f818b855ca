"""Fault tolerance's own database: failures as they were judged, and who may restart next.

Plain synchronous functions over a connection, `database.run(partial(function, ...))`; the caller
owns the transaction and the thread. SQLite and PostgreSQL, the same statements.
"""

from muster.fault_tolerance.store.failures import elsewhere, record, records
from muster.fault_tolerance.store.keeping import forget, launched
from muster.fault_tolerance.store.tables import metadata
from muster.fault_tolerance.store.tokens import Lane, take_token

__all__ = [
    "Lane",
    "elsewhere",
    "forget",
    "launched",
    "metadata",
    "record",
    "records",
    "take_token",
]
