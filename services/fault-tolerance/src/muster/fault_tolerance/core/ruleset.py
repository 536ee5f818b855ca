"""Rules out of data: checked field by field, every fault told at once. Pure.

Whoever reads the files hands in what stands in them. A fault names the file, the rule, the field
and the remedy, in English and Chinese: people write these rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster.domain.diagnosis import Action, Advice, Blame, Kind, Stage
from muster.domain.evidence import Scope
from muster.fault_tolerance.core.entries import Entry
from muster.fault_tolerance.core.rulefaults import Fault
from muster.fault_tolerance.core.rules import Role, Rule, Rulebook

FIELDS = (
    "id", "scope", "role", "blame", "kind", "action", "what", "pattern", "flags",
    "literals", "unless",
    "codes", "stages", "exit_codes", "alone", "weak", "shadow", "examples", "near_misses", "advice",
    "note", "disabled",
)  # fmt: skip
_KINDS = {
    Action.STOP: Kind.DETERMINISTIC,
    Action.EXCLUDE: Kind.TRANSIENT,
    Action.CORDON: Kind.TRANSIENT,
    Action.REQUEUE: Kind.TRANSIENT,
    Action.RETRY: Kind.TRANSIENT,
    Action.IN_PLACE: Kind.TRANSIENT,
}
"""What an action says about the next time, where a rule does not say it itself."""

_STOPPING = frozenset({Action.STOP, Action.RETRY_ONCE})
"""What may end a job for good, at once or the second time: then a person must change something."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one file holds, as YAML reads it."""

    name: str
    content: object


@dataclass(slots=True)
class Reading:
    """What came out of the files. off: id of a rule that is disabled -> the file that does so.

    named: every id that stands anywhere, whether or not its rule is sound.
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    off: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)


def read(sources: Iterable[Source]) -> Reading:
    """Return the rules of some files, and every fault in them."""
    reading = Reading()
    for source in sources:
        _read_file(source, reading)
    return reading


def book(shipped: Mapping[str, Rule], site: Reading, version: str) -> Rulebook:
    """Put a site's rules over the shipped ones: the same id replaces, `disabled` takes away."""
    merged = {**shipped, **site.rules}
    return Rulebook(version, tuple(r for name, r in merged.items() if name not in site.off))


def _read_file(source: Source, reading: Reading) -> None:
    content = source.content
    if not isinstance(content, Mapping) or not isinstance(content.get("rules"), list):
        reading.faults.append(Fault("shape", source.name, "-", "rules"))
        return
    for name in content.keys() - {"group", "defaults", "rules"}:
        reading.faults.append(
            Fault("unknown", source.name, "-", str(name), "group, defaults, rules")
        )
    defaults = content.get("defaults") or {}
    group = str(content.get("group") or source.name.removesuffix(".yaml"))
    for place, entry in enumerate(content["rules"], start=1):
        if not isinstance(entry, Mapping) or not isinstance(defaults, Mapping):
            reading.faults.append(Fault("shape", source.name, f"#{place}", "rules"))
            continue
        _add(Entry(source.name, f"#{place}", {**defaults, **entry}, reading.faults), group, reading)


def _add(entry: Entry, group: str, reading: Reading) -> None:
    before = len(reading.faults)
    entry.named()
    if entry.rule in reading.named:
        entry.fault("double", "id")
    reading.named.add(entry.rule)
    if entry.flag("disabled"):
        reading.off.setdefault(entry.rule, entry.file)
        return
    made = _made(entry, group)
    if made is not None and len(reading.faults) == before:
        reading.rules[made.id] = made


def _made(entry: Entry, group: str) -> Rule | None:
    for name in entry.data.keys() - set(FIELDS):
        entry.fault("unknown", str(name), ", ".join(FIELDS))
    action = entry.word("action", Action)
    expression = entry.pattern("pattern")
    if expression is None:
        return None
    rule = Rule(
        id=entry.rule,
        scope=entry.word("scope", Scope),
        role=entry.word("role", Role, Role.ROOT),
        blame=entry.word("blame", Blame),
        kind=entry.word("kind", Kind, _KINDS.get(action, Kind.EITHER)),
        action=action,
        pattern=expression,
        literals=entry.literals(expression),
        what=entry.texts("what", needed=True) or Advice(en="", zh=""),
        advice=entry.texts("advice", needed=False),
        unless=entry.pattern("unless") if "unless" in entry.data else None,
        codes=entry.numbers("codes"),
        stages=frozenset(entry.words("stages", Stage)),
        exit_codes=entry.numbers("exit_codes"),
        alone=entry.word("alone", Blame) if "alone" in entry.data else None,
        weak=entry.flag("weak"),
        shadow=entry.flag("shadow"),
        group=group,
        note=str(entry.data.get("note") or ""),
        examples=entry.list_of_text("examples"),
        near_misses=entry.list_of_text("near_misses"),
    )
    _prove(entry, rule)
    return rule


def _prove(entry: Entry, rule: Rule) -> None:
    """Let a rule show that it matches what it should, and leaves alone what it should."""
    if rule.role is Role.ROOT and rule.action in _STOPPING and rule.advice is None:
        entry.fault("advice", "advice")
    if rule.codes and "code" not in rule.pattern.groupindex:
        entry.fault("code", "pattern")
    for name, texts in (("examples", rule.examples), ("near_misses", rule.near_misses)):
        if not texts:
            entry.fault("missing", name)
    alone = Rulebook("", (replace(rule, weak=False),))
    for text in rule.examples:
        if not alone.read(rule.scope, text):
            entry.fault("example", "examples", text)
    for text in rule.near_misses:
        if alone.read(rule.scope, text):
            entry.fault("near_miss", "near_misses", text)
