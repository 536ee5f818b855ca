"""Rules that people ask for: made, paused, resumed and removed, checked as those of the file are.

Plain synchronous functions over a connection, in one transaction with the request's id. Called by
the desk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.contracts.notices import AddRule, Done, OfRule, PauseRule, RemoveRule, ResumeRule
from muster.domain.violations import Violation
from muster.notifier import lanes, ledger, store
from muster.notifier.addressbook import AddressReader
from muster.notifier.addresses import Addresses, forget_unused, of_tenant, put_address
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import kinds
from muster.notifier.channels.port import Address
from muster.notifier.core.notice import Lane
from muster.notifier.core.rules import Rule, ScopeKind
from muster.notifier.findings import Findings
from muster.notifier.ledger import Ended
from muster.notifier.rulebook import RuleReader
from muster.notifier.store import ASKED, FILE, rules
from muster.notifier.views import view


@dataclass(frozen=True, slots=True)
class Booking:
    """What rules are checked against."""

    addresses: Addresses
    allowlist: Allowlist

    def add(self, conn: Connection, tenant: str, body: AddRule, now: datetime) -> Done:
        """Make a rule, or return every violation."""
        find = Findings()
        new = self._new_address(body, find)
        known = self._usable(conn, tenant)
        if new is not None:
            known = {**known, _NEW: None}  # it is checked already, with the channel
        rule = RuleReader(find, known, self.allowlist).rule(_entry(tenant, body, new), "$")
        label = new.label if new is not None else _label(rule, known)
        rule = replace(rule, owner=body.user, since=now, label=label)
        self._check(conn, rule, body, find)
        if find.violations:
            return Done(violations=tuple(_own(each, body) for each in find.violations))
        if new is not None:
            assert self.addresses.vault is not None
            name = put_address(conn, tenant, rule.channel, new, body.user, self.addresses.vault)
            rule = replace(rule, address=name)
        store.put_rule(conn, rule, ASKED)
        lanes.open_lanes(conn, {Lane(rule.channel, rule.label)})
        return Done(rule=view(conn, tenant, rule.id))

    def _new_address(self, body: AddRule, find: Findings) -> Address | None:
        if body.webhook is None:
            return None
        if self.addresses.vault is None:
            find.add("E_RULE_KEY", "$.webhook")
        secret = body.secret.get_secret_value() if body.secret is not None else None
        reader = AddressReader(find, lambda kind, name: None, self.allowlist)
        return reader.asked(
            str(body.channel), body.webhook.get_secret_value(), secret, body.keywords
        )

    def _usable(self, conn: Connection, tenant: str) -> Mapping[str, Address | None]:
        """Return the addresses that a tenant's rules may name: its own, and those of its rules in
        the operator's file."""
        own = {name: self.addresses.opened(row) for name, row in of_tenant(conn, tenant).items()}
        query = sa.select(rules.c.address).where(
            rules.c.tenant == tenant, rules.c.origin == FILE, ~rules.c.removed
        )
        given = {row.address for row in conn.execute(query)}
        return own | {
            name: address for name, address in self.addresses.of_file.items() if name in given
        }

    def _check(self, conn: Connection, rule: Rule, body: AddRule, find: Findings) -> None:
        if rule.scope.kind is ScopeKind.ME and rule.scope.user != body.user:
            find.add("E_RULE_OWNER", "$.scope", user=body.user)
        kind = kinds().get(rule.channel)
        if kind is not None and kind.addressed and body.webhook is None and body.address is None:
            find.violations = [each for each in find.violations if each.path != "$.address"]
            find.add("E_RULE_ADDRESS", "$.webhook")
        taken = conn.execute(sa.select(rules).where(rules.c.id == rule.id)).first()
        if taken is not None and not (taken.removed and taken.tenant == rule.tenant):
            find.add("E_RULE_ID", "$.id")
        elif not find.violations and _told_already(conn, rule):
            find.add("E_RULE_DUP", "$")


_NEW = "webhook"
"""What the address of the request is called while it is checked."""


def _entry(tenant: str, body: AddRule, new: Address | None) -> dict[str, object]:
    """Return what the file would say."""
    made = hashlib.sha256(f"{tenant}/{body.request}".encode()).hexdigest()[:10]
    entry: dict[str, object] = {
        "id": f"r-{made}" if body.id is None else body.id,
        "tenant": tenant,
        "scope": body.scope,
        "trigger": body.trigger,
        "channel": body.channel,
    }
    if body.language is not None:
        entry["language"] = body.language
    address = body.address if new is None else _NEW
    return entry if address is None else {**entry, "address": address}


def _label(rule: Rule, known: Mapping[str, Address | None]) -> str:
    address = known.get(rule.address)
    return address.label if address else rule.address


def _own(found: Violation, body: AddRule) -> Violation:
    """Name the field that the asker gave."""
    path = "$.webhook" if found.path == "$.address" and body.webhook is not None else found.path
    return found.model_copy(update={"path": path})


def _told_already(conn: Connection, rule: Rule) -> bool:
    """Tell whether a rule of the same owner, or of the file, tells the same to the same address."""
    query = sa.select(rules).where(
        rules.c.tenant == rule.tenant,
        rules.c.trigger_name == rule.trigger.value,
        rules.c.channel == rule.channel,
        rules.c.lane == rule.label,
        rules.c.owner.in_(("", rule.owner)),
        ~rules.c.removed,
    )
    return any(store.rule_of(row).scope == rule.scope for row in conn.execute(query))


@dataclass(frozen=True, slots=True)
class Changed:
    """What came of a request about a rule, and the notices that it withdrew."""

    done: Done
    ended: tuple[Ended, ...] = ()


def change(conn: Connection, tenant: str, body: OfRule, now: datetime) -> Changed:
    """Pause, resume or remove a rule; what waits by one that is out of force is withdrawn."""
    mine = (rules.c.tenant == tenant, rules.c.id == body.rule, ~rules.c.removed)
    row = conn.execute(sa.select(rules).where(*mine)).first()
    refused = refusal(row, body.rule)
    if refused:
        return Changed(Done(violations=refused))
    assert row is not None
    match body:
        case PauseRule():
            values: dict[str, object] = {"enabled": False}
        case ResumeRule():
            values = {} if row.enabled else {"enabled": True, "since": now}
        case RemoveRule():
            values = {"enabled": False, "removed": True}
        case _:
            raise AssertionError(body.kind)
    if values:
        conn.execute(sa.update(rules).where(*mine).values(values))
    ended = ledger.follow_rules(conn, now, body.rule)
    if isinstance(body, RemoveRule):
        named = sa.select(rules.c.address).where(rules.c.tenant == tenant, ~rules.c.removed)
        forget_unused(conn, tenant, {each.address for each in conn.execute(named)})
    done = Done(count=len(ended), rule=view(conn, tenant, body.rule))
    return Changed(done, tuple(ended))


def refusal(row: object | None, rule: str) -> tuple[Violation, ...]:
    """Return why a rule cannot be changed: there is none, or it is the operator's."""
    find = Findings()
    if row is None:
        find.add("E_RULE_UNKNOWN", "$.rule", rule=rule)
    elif getattr(row, "origin", "") == FILE:
        find.add("E_RULE_FILE", "$.rule", rule=rule)
    return tuple(find.violations)
