"""Reads the rules: those that come with Muster, and a site's own over them.

`Rules.current()` is asked at every failure and looks whether the site's files have changed, so a
rule is in force without a restart. A fault in them is told once, by log and metric; until it is
mended the last good set decides. Called by the handlers and by `muster diagnose`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import structlog
import yaml

from muster.fault_tolerance import metrics
from muster.fault_tolerance.core import ruleset
from muster.fault_tolerance.core.rulefaults import Fault
from muster.fault_tolerance.core.rules import Rule, Rulebook
from muster.fault_tolerance.core.ruleset import Reading, Source

VERSION = "1.0.0"
"""Of the shipped rules. The first number tells that a rule means something else than before."""

_log = structlog.get_logger(__name__)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class InvalidRules(Exception):
    """Rules that cannot be used. faults: every one of them."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Keep the faults; the text names them all in English."""
        self.faults = tuple(faults)
        super().__init__("\n".join(fault.text() for fault in self.faults))


@dataclass(frozen=True, slots=True)
class _Texts:
    """The files of a folder, by name."""

    files: Mapping[str, str]

    def digest(self) -> str:
        """Name the content; the order of files does not matter."""
        whole = "\0".join(f"{name}\0{self.files[name]}" for name in sorted(self.files))
        return hashlib.blake2s(whole.encode(), digest_size=4).hexdigest()


def shipped() -> Rulebook:
    """Return the rules that come with Muster. Raises InvalidRules for a broken installation."""
    return Rulebook(f"{VERSION}+{_shipped_texts().digest()}", tuple(_shipped().values()))


def with_site(folder: Path) -> Rulebook:
    """Return the shipped rules with those of a site's folder. Raises InvalidRules, every fault."""
    files, unread = _read_folder(folder)
    texts = _Texts(files)
    reading = _read(files)
    faults = [*unread, *reading.faults, *_unknown(reading)]
    if faults:
        raise InvalidRules(faults)
    version = f"{VERSION}+{_shipped_texts().digest()}.{texts.digest()}"
    return ruleset.book(_shipped(), reading, version)


def checked(folder: Path) -> Rulebook:
    """Return the same for whoever has just written them: nothing in the folder is passed over.

    A service takes an empty folder for a site without rules of its own. Raises InvalidRules.
    """
    faults: tuple[Fault, ...] = ()
    book: Rulebook | None = None
    try:
        book = with_site(folder)
    except InvalidRules as error:
        faults = error.faults
    if folder.is_dir():
        faults += tuple(_passed_over(folder))
    if book is None or faults:
        raise InvalidRules(faults)
    return book


def _passed_over(folder: Path) -> Iterable[Fault]:
    if not any(folder.glob("*.yaml")):
        yield Fault("none", str(folder), "-", "-")
    for path in sorted(folder.glob("*.yml")):
        yield Fault("suffix", path.name, "-", "-")


class Rules:
    """The rules in force. site: folder of a site's own, or None."""

    def __init__(self, site: Path | None = None) -> None:
        """Read nothing yet."""
        self._site = site
        self._seen: object = None
        self._book: Rulebook | None = None

    def current(self) -> Rulebook:
        """Return the rules in force now. Never fails for what a site has written."""
        seen = _signature(self._site) if self._site else ()
        if self._book is None or seen != self._seen:
            self._book, self._seen = self._read(), seen
        return self._book

    def _read(self) -> Rulebook:
        faults: tuple[Fault, ...] = ()
        book = self._book or shipped()
        if self._site is not None:
            try:
                book = with_site(self._site)
            except InvalidRules as error:
                faults = error.faults
                _tell(self._site, faults, book.version)
        shadow = sum(rule.shadow for rule in book.rules)
        metrics.show_rules(len(book.rules) - shadow, shadow, len(faults))
        return book


def _tell(folder: Path, faults: Iterable[Fault], kept: str) -> None:
    told = [fault.text() for fault in faults]
    _log.error("the site's rules have faults; the last good set decides", folder=str(folder),
               faults=told, rules=kept)  # fmt: skip


def _signature(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when a file of the folder does."""
    try:
        seen = [(path.name, path.stat()) for path in folder.glob("*.yaml")]
    except OSError:
        return (("", -1, -1),)
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in seen))


def _read_folder(folder: Path) -> tuple[dict[str, str], list[Fault]]:
    if not folder.is_dir():
        why = "a file" if folder.exists() else "no such folder"
        raise InvalidRules([Fault("folder", str(folder), "-", "-", why)])
    texts: dict[str, str] = {}
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            texts[path.name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            faults.append(Fault("file", path.name, "-", "-", str(error)))
    return texts, faults


def _read(texts: Mapping[str, str]) -> Reading:
    """Read what is YAML; what is not is a fault beside those of the others."""
    faults: list[Fault] = []
    sources = (_parsed(name, text, faults) for name, text in texts.items())
    reading = ruleset.read(source for source in sources if source is not None)
    reading.faults[:0] = faults
    return reading


def _unknown(reading: Reading) -> Iterable[Fault]:
    for name in sorted(reading.off.keys() - _shipped().keys()):
        yield Fault("disabled", reading.off[name], name, "disabled")


def _parsed(name: str, text: str, faults: list[Fault]) -> Source | None:
    try:
        return Source(name, yaml.load(text, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        faults.append(Fault("file", name, "-", "-", why))
        return None


@cache
def _shipped_texts() -> _Texts:
    folder = files("muster.fault_tolerance") / "rules"
    found = {item.name: item for item in folder.iterdir() if item.name.endswith(".yaml")}
    return _Texts({name: found[name].read_text(encoding="utf-8") for name in sorted(found)})


@cache
def _shipped() -> Mapping[str, Rule]:
    """Read the shipped rules once in the life of a process: they do not change."""
    reading = _read(_shipped_texts().files)
    if reading.faults:
        raise InvalidRules(reading.faults)
    return reading.rules
