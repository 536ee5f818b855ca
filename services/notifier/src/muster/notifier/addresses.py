"""Where the names of addresses lead: those of the operator's file, and those that were asked for.

What was asked for is sealed in the database and opened in memory alone. A replica learns of it in
the transaction that takes a message, so an address that another replica was given is known, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import sqlalchemy as sa
import structlog
from pydantic import SecretStr
from sqlalchemy.engine import Connection

from muster.domain.errors import Permanent
from muster.notifier.channels.port import Address
from muster.notifier.core.notice import Lane
from muster.notifier.store import addresses
from muster.runtime.database import insert_into

_log = structlog.get_logger(__name__)


class Sealer(Protocol):
    """Keeps texts unreadable without a key."""

    def seal(self, text: str) -> str:
        """Return what may be stored."""
        ...

    def open(self, sealed: str) -> str:
        """Return the text. Raises Permanent when no key at hand opens it."""
        ...


@dataclass(slots=True)
class Addresses:
    """of_file: by the names that the file gives them. vault: None when there is no key."""

    of_file: Mapping[str, Address] = field(default_factory=dict)
    vault: Sealer | None = None
    _asked: dict[str, Address] = field(default_factory=dict)

    def find(self, name: str) -> Address | None:
        """Return the address of a name; None if nobody knows it."""
        return self._asked.get(name) or self.of_file.get(name)

    def learn(self, conn: Connection, lane: Lane) -> None:
        """Read the asked addresses behind a lane, as they are now."""
        query = sa.select(addresses).where(addresses.c.label == lane.key)
        for row in conn.execute(query):
            found = self.opened(row)
            if found is None:
                self._asked.pop(row.name, None)
            else:
                self._asked[row.name] = found

    def opened(self, row: sa.Row[Any]) -> Address | None:
        """Return the address of a row; None if no key opens it."""
        if self.vault is None:
            return None
        try:
            url = self.vault.open(row.sealed_url)
            secret = self.vault.open(row.sealed_secret) if row.sealed_secret else None
        except Permanent as error:
            _log.error("address cannot be opened", address=row.label, why=str(error))
            return None
        keywords = tuple(json.loads(row.keywords))
        return Address(SecretStr(url), SecretStr(secret) if secret else None, keywords)


def put_address(
    conn: Connection, tenant: str, channel: str, address: Address, owner: str, vault: Sealer
) -> str:
    """Keep an address, or what is new of one that is known; returns its name.

    Who names a known webhook without its secret or keywords leaves them as they are: others tell
    through it, too.
    """
    name = f"{tenant}/{channel}/{address.label}"
    secret = address.secret.get_secret_value() if address.secret else ""
    values = {
        "tenant": tenant,
        "channel": channel,
        "label": address.label,
        "shown": address.shown,
        "sealed_url": vault.seal(address.url.get_secret_value()),
        "sealed_secret": vault.seal(secret) if secret else None,
        "keywords": json.dumps(address.keywords, ensure_ascii=False),
        "owner": owner,
    }
    statement = insert_into(conn, addresses).values(name=name, **values)
    given = {"sealed_secret": bool(secret), "keywords": bool(address.keywords)}
    told = {column: value for column, value in values.items() if given.get(column, True)}
    conn.execute(statement.on_conflict_do_update(index_elements=["name"], set_=told))
    return name


def of_tenant(conn: Connection, tenant: str) -> dict[str, sa.Row[Any]]:
    """Return the rows of a tenant's asked addresses, by name."""
    query = sa.select(addresses).where(addresses.c.tenant == tenant)
    return {row.name: row for row in conn.execute(query)}


def reseal(conn: Connection, tenant: str, vault: Sealer) -> int:
    """Seal a tenant's addresses with the newest key. Raises Permanent for one that none opens."""
    rows = of_tenant(conn, tenant).values()
    for row in rows:
        sealed = {
            "sealed_url": vault.seal(vault.open(row.sealed_url)),
            "sealed_secret": vault.seal(vault.open(row.sealed_secret))
            if row.sealed_secret
            else None,
        }
        conn.execute(sa.update(addresses).where(addresses.c.name == row.name).values(sealed))
    return len(rows)


def forget_unused(conn: Connection, tenant: str, used: set[str]) -> None:
    """Delete the asked addresses of a tenant that no rule names any more."""
    mine = (addresses.c.tenant == tenant, addresses.c.name.not_in(used))
    conn.execute(sa.delete(addresses).where(*mine))
