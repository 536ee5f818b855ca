"""One rule of a file while it is read: every field by itself, every fault noted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from muster.domain.diagnosis import Advice
from muster.fault_tolerance.core import patterns
from muster.fault_tolerance.core.rulefaults import Fault

_ID = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)+", re.ASCII)
_FLAGS = {"i": re.IGNORECASE}

Word = TypeVar("Word", bound=StrEnum)


@dataclass(slots=True)
class Entry:
    """One rule of a file while it is read. rule: its id, or its place until that is known."""

    file: str
    rule: str
    data: Mapping[object, object]
    faults: list[Fault]

    def fault(self, code: str, where: str, detail: str = "") -> None:
        self.faults.append(Fault(code, self.file, self.rule, where, detail))

    def named(self) -> None:
        name = self.data.get("id")
        if isinstance(name, str) and _ID.fullmatch(name):
            self.rule = name
        else:
            self.fault("id", "id", str(name))

    def word(self, name: str, kind: type[Word], default: Word | None = None) -> Word:
        value = self.data.get(name, default)
        if isinstance(value, str) and value in set(kind):
            return kind(value)
        self.fault("word", name, ", ".join(kind))
        return next(iter(kind))

    def words(self, name: str, kind: type[Word]) -> Iterable[Word]:
        listed = self.list_of_text(name)
        if set(listed) - set(kind):
            self.fault("word", name, ", ".join(kind))
            return ()
        return map(kind, listed)

    def flag(self, name: str) -> bool:
        value = self.data.get(name, False)
        if not isinstance(value, bool):
            self.fault("flag", name)
        return value is True

    def list_of_text(self, name: str) -> tuple[str, ...]:
        value = self.data.get(name) or []
        if not isinstance(value, list) or not all(isinstance(x, str) and x for x in value):
            self.fault("texts", name)
            return ()
        return tuple(value)

    def numbers(self, name: str) -> frozenset[int]:
        """Read numbers, and ranges like 144-150."""
        value = self.data.get(name) or []
        spans = [_span(x) for x in value] if isinstance(value, list) else [None]
        if None in spans:
            self.fault("numbers", name)
            return frozenset()
        return frozenset(number for span in spans if span for number in span)

    def texts(self, name: str, *, needed: bool) -> Advice | None:
        value = self.data.get(name)
        if value is None and not needed:
            return None
        allowed = {"en", "zh", "field"}
        good = isinstance(value, Mapping) and all(
            isinstance(v, str) and v and k in allowed for k, v in value.items()
        )
        if not good or not isinstance(value, Mapping) or not {"en", "zh"} <= value.keys():
            self.fault("bilingual", name)
            return None
        return Advice(en=value["en"], zh=value["zh"], field=value.get("field"))

    def pattern(self, name: str) -> re.Pattern[str] | None:
        """Compile the pattern, unless it is none or could take very long."""
        text, flags = self.data.get(name), self.data.get("flags", "")
        if not isinstance(text, str) or not text:
            self.fault("missing", name)
            return None
        if not isinstance(flags, str) or set(flags) - _FLAGS.keys():
            self.fault("word", "flags", ", ".join(_FLAGS))
            return None
        bits = sum(_FLAGS[letter] for letter in set(flags))
        try:
            made = patterns.compiled(text, bits)
            slow = patterns.danger(text, bits)
        except (re.error, OverflowError, RecursionError) as error:
            self.fault("pattern", name, str(error))
            return None
        if slow:
            self.fault("slow", name, slow)
        return made

    def literals(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return the literals that are given, or those that the pattern has anyway."""
        given = tuple(text.lower() for text in self.list_of_text("literals"))
        found = given or patterns.literals(pattern.pattern, pattern.flags)
        if not found or min(map(len, found)) < patterns.SHORTEST:
            self.fault("literal", "literals", str(patterns.SHORTEST))
        return found


def _span(value: object) -> range | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return range(value, value + 1)
    found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", value) if isinstance(value, str) else None
    if found is None or int(found[1]) > int(found[2]):
        return None
    return range(int(found[1]), int(found[2]) + 1)
