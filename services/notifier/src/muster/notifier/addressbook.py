"""Reads the addresses of the rules file: webhook, signing secret and keywords, by reference only.

What a reference resolves to stays in memory; it is never repeated in a violation. Called by the
reader of the rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import kinds
from muster.notifier.channels.port import Address
from muster.notifier.findings import Findings, shown

Resolve = Callable[[str, str], str | None]
"""(kind "env" or "file", name) -> the value, or None when there is none."""

_MAX_KEYWORDS, _MAX_KEYWORD, _MAX_SECRET = 10, 64, 128


def from_machine(kind: str, name: str) -> str | None:
    """Resolve a reference on this machine: an environment variable, or a file's text."""
    if kind == "env":
        return os.environ.get(name)
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class AddressReader:
    """Reads one file's addresses and notes what is wrong in `findings`."""

    findings: Findings
    resolve: Resolve
    allowlist: Allowlist

    def read(self, value: object) -> Mapping[str, Address | None]:
        """Return name -> address; None for one that cannot be used."""
        entries = self.findings.mapping(value, "$.addresses")
        return {
            name: self._address(entry, f"$.addresses.{shown(name, index)}")
            for index, (name, entry) in enumerate(entries.items())
        }

    def _address(self, value: object, path: str) -> Address | None:
        entry = self.findings.mapping(value, path, ("webhook", "secret", "keywords"))
        url = self._reference(entry.get("webhook"), f"{path}.webhook")
        if url is not None and not any(k.allows(url, self.allowlist) for k in kinds().values()):
            self.findings.add("E_WEBHOOK", f"{path}.webhook")
            url = None
        secret = self._secret(entry, f"{path}.secret")
        keywords = self.keywords(entry.get("keywords", []), f"{path}.keywords")
        return None if url is None else Address(SecretStr(url), secret, keywords)

    def _secret(self, entry: Mapping[str, object], path: str) -> SecretStr | None:
        if "secret" not in entry:
            return None
        value = self._reference(entry["secret"], path)
        return None if value is None else self.secret(value, path)

    def asked(
        self, channel: str, webhook: str, secret: str | None, keywords: object
    ) -> Address | None:
        """Return an address that came with a request; None for one that cannot be used."""
        url, kind = webhook.strip(), kinds().get(channel)
        if kind is not None and not kind.allows(url, self.allowlist):
            self.findings.add("E_WEBHOOK", "$.webhook")
        signed = None if secret is None else self.secret(secret.strip(), "$.secret")
        words = list(keywords) if isinstance(keywords, list | tuple) else keywords
        return Address(SecretStr(url), signed, self.keywords(words, "$.keywords"))

    def secret(self, value: str, path: str) -> SecretStr:
        """Return a signing secret of a length that a bot takes."""
        if not 1 <= len(value) <= _MAX_SECRET:
            self.findings.add("E_RULE_SECURITY", path)
        return SecretStr(value)

    def keywords(self, value: object, path: str) -> tuple[str, ...]:
        """Return the keywords, () if they are none that a bot can have."""
        words = value if isinstance(value, list) else [None]
        if len(words) > _MAX_KEYWORDS or not all(_is_keyword(word) for word in words):
            self.findings.add("E_RULE_SECURITY", path)
            return ()
        return tuple(words)

    def _reference(self, value: object, path: str) -> str | None:
        """Return the stripped value behind a reference, None if there is none."""
        one = isinstance(value, dict) and len(value) == 1
        match value:
            case {"env": str(name)} if one:
                found = self.resolve("env", name)
            case {"file": str(name)} if one:
                found = self.resolve("file", name)
            case _:
                found = None
        if found is None:
            self.findings.add("E_RULE_REFERENCE", path)
            return None
        return found.strip()


def _is_keyword(word: object) -> bool:
    return isinstance(word, str) and 1 <= len(word.strip()) <= _MAX_KEYWORD
