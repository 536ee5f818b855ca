"""Reads the rules file: rules and the addresses that they name, or every violation at once.

Called by the service at start, and by whoever wants to check a file before that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from muster.domain.demand import ResourceClass
from muster.notifier.addressbook import AddressReader, Resolve
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import kinds
from muster.notifier.channels.port import Address
from muster.notifier.core.notice import OF_THE_FLEET, Language, Trigger
from muster.notifier.core.rules import SCOPES_OF_THE_FLEET, Rule, Scope, ScopeKind
from muster.notifier.findings import Findings

_LANGUAGES = ("zh", "en")
_SCOPES = (
    "tenant | {me: USER} | {job: ID} | {labels: {KEY: VALUE}} | {resource_class: CLASS}"
    " | {pool: NAME} | cluster"
)
_FIELDS = ("id", "tenant", "scope", "trigger", "language", "channel", "address", "enabled")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules of the file, and the addresses by the names that the rules use."""

    rules: tuple[Rule, ...] = ()
    addresses: Mapping[str, Address] = field(default_factory=dict)


def read(text: str, resolve: Resolve, allowlist: Allowlist) -> Rulebook:
    """Return the rulebook that `text` (YAML) describes. Raises InvalidRules."""
    findings = Findings()
    top = findings.mapping(_document(text, findings), "$", ("addresses", "rules"))
    addresses = AddressReader(findings, resolve, allowlist).read(top.get("addresses", {}))
    rules = tuple(RuleReader(findings, addresses, allowlist).read(top.get("rules", [])))
    _refuse_repeats(rules, addresses, findings)
    findings.check()
    usable = {name: address for name, address in addresses.items() if address is not None}
    return Rulebook(rules, usable)


def _document(text: str, findings: Findings) -> object:
    try:
        return yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError):
        findings.shape("$", "YAML")
        return {}


@dataclass(frozen=True, slots=True)
class RuleReader:
    """Reads rules and notes what is wrong in `findings`."""

    findings: Findings
    addresses: Mapping[str, Address | None]
    allowlist: Allowlist

    def read(self, value: object) -> Iterator[Rule]:
        """Yield the rules of a list."""
        if not isinstance(value, list):
            self.findings.shape("$.rules", "a list")
            return
        for index, entry in enumerate(value):
            yield self.rule(entry, f"$.rules[{index}]")

    def rule(self, value: object, path: str) -> Rule:
        """Return a rule; one that breaks rules, too, so that reading can go on."""
        find = self.findings
        entry = find.mapping(value, path, _FIELDS)
        channel = find.choice(entry.get("channel", "feishu"), tuple(kinds()), f"{path}.channel")
        rule = Rule(
            id=find.word(entry.get("id"), _ID, f"{path}.id", "1-63 of a-z 0-9 -"),
            tenant=find.word(
                entry.get("tenant"), _TOKEN, f"{path}.tenant", "1-128 of A-Z a-z 0-9 _ -"
            ),
            scope=self._scope(entry.get("scope"), f"{path}.scope"),
            trigger=self._trigger(entry.get("trigger"), f"{path}.trigger"),
            language=self._language(entry.get("language", _own(channel)), f"{path}.language"),
            channel=channel,
            address=self._address(entry.get("address"), channel, f"{path}.address"),
            enabled=find.flag(entry.get("enabled", True), f"{path}.enabled"),
        )
        of_the_fleet = rule.scope.kind in SCOPES_OF_THE_FLEET
        both = entry.get("scope") and entry.get("trigger") == rule.trigger.value
        if both and of_the_fleet is not (rule.trigger in OF_THE_FLEET):
            find.add("E_RULE_SCOPE", f"{path}.scope", trigger=rule.trigger.value)
        return rule

    def _trigger(self, value: object, path: str) -> Trigger:
        if isinstance(value, str) and value in set(Trigger):
            return Trigger(value)
        self.findings.add("E_RULE_TRIGGER", path)
        return Trigger.JOB_ABNORMAL

    def _scope(self, value: object, path: str) -> Scope:
        one = isinstance(value, dict) and len(value) == 1
        match value:
            case "tenant":
                return Scope(ScopeKind.TENANT)
            case {"me": str(user)} if one and user:
                return Scope(ScopeKind.ME, user=user)
            case {"job": str(job)} if one and _TOKEN.fullmatch(job):
                return Scope(ScopeKind.JOB, job=job)
            case {"labels": dict(labels)} if one and _are_labels(labels):
                return Scope(ScopeKind.LABELS, labels=tuple(sorted(labels.items())))
            case {"resource_class": str(name)} if one and name in set(ResourceClass):
                return Scope(ScopeKind.RESOURCE_CLASS, resource_class=name)
            case {"pool": str(pool)} if one and _TOKEN.fullmatch(pool):
                return Scope(ScopeKind.POOL, pool=pool)
            case "cluster":
                return Scope(ScopeKind.CLUSTER)
        self.findings.shape(path, _SCOPES)
        return Scope(ScopeKind.TENANT)

    def _language(self, value: object, path: str) -> Language:
        return "en" if self.findings.choice(value, _LANGUAGES, path) == "en" else "zh"

    def _address(self, value: object, channel: str, path: str) -> str:
        known = kinds().get(channel)
        if known is not None and not known.addressed and value is None:
            return ""
        name = self.findings.choice(value, tuple(self.addresses), path, "a name under addresses")
        address = self.addresses.get(name)
        if known and address and not known.allows(address.url.get_secret_value(), self.allowlist):
            self.findings.add("E_RULE_CHANNEL", path, channel=channel)
        return name


def _own(channel: str) -> Language:
    kind = kinds().get(channel)
    return kind.language if kind else "zh"


def _are_labels(labels: Mapping[object, object]) -> bool:
    texts = (*labels.keys(), *labels.values())
    return bool(labels) and all(isinstance(text, str) for text in texts)


def _refuse_repeats(
    rules: Iterable[Rule], addresses: Mapping[str, Address | None], findings: Findings
) -> None:
    """Refuse a second rule of the same id, and one that would tell the same to the same webhook."""
    seen: set[object] = set()
    for index, rule in enumerate(rules):
        address = addresses.get(rule.address)
        webhook = address.label if address else rule.address
        same = (rule.tenant, rule.scope, rule.trigger, rule.channel, webhook)
        if rule.id in seen:
            findings.add("E_RULE_DUP", f"$.rules[{index}].id")
        if same in seen:
            findings.add("E_RULE_DUP", f"$.rules[{index}]")
        seen |= {rule.id, same}
