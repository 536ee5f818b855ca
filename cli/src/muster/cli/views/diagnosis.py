"""What `muster diagnose` shows: the verdict, why, and every line that a rule matched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli import output
from muster.cli.diagnosing import Found, Judged
from muster.cli.texts import language, pick, say
from muster.cli.words import plain
from muster.domain.diagnosis import Advice, Diagnosis
from muster.fault_tolerance.core.rulefaults import Fault
from muster.fault_tolerance.core.rules import Rule, Rulebook

SHOWN = 40
"""Lines that are shown; --json has all."""


def words(text: Advice) -> str:
    """Return the one of the two languages that is spoken."""
    return pick((text.en, text.zh))


def verdict_view(judged: Judged, book: Rulebook) -> Group:
    """Say whose failure it is and what would follow."""
    found = judged.diagnosis
    rule = book.rule(found.rule) if found.rule else None
    blame, kind = say(f"diagnose.blame.{found.blame}"), say(f"diagnose.kind.{found.kind}")
    rows: list[tuple[str, str]] = [
        ("cause", f"{found.rule}: {words(rule.what)}" if rule else _unnamed(found)),
        ("blame", f"{blame} · {kind}"),
        ("action", say(f"diagnose.action.{found.action}")),
        ("stage", say(f"diagnose.stage.{found.stage}")),
        ("spread", say(f"diagnose.spread.{found.spread}")),
        ("first", _first(judged)),
        ("confidence", f"{found.confidence:.0%}"),
    ]
    if found.advice:
        named = say("diagnose.field", field=found.advice.field) if found.advice.field else ""
        rows.append(("advice", words(found.advice) + named))
    if found.shadow:
        rows.append(("shadow", say("comma").join(found.shadow)))
    rows.append(("fingerprint", found.fingerprint))
    rows.append(("rules", f"{found.rules} ({len(book.rules)})"))
    return Group(*(_row(name, text) for name, text in rows))


def _row(name: str, text: str) -> RenderableType:
    title = say(f"diagnose.row.{name}")
    # a Chinese character is two columns wide
    width = 14 - sum(ord(letter) > 0x2E7F for letter in title)
    return Text.assemble((f"{title:{width}}", "bold"), plain(text))


def _unnamed(found: Diagnosis) -> str:
    return found.rule or say("diagnose.unknown")


def _first(judged: Judged) -> str:
    worker = judged.diagnosis.first
    file = judged.file_of(worker)
    return say("diagnose.nobody") if worker is None else f"{worker} ({file})" if file else worker


def evidence_view(found: Diagnosis) -> Table:
    """Return the lines that the verdict rests on, the most telling first."""
    titles = ("source", "worker", "rule", "line")
    made = output.table(*(say(f"diagnose.column.{title}") for title in titles))
    for each in found.evidence:
        source = say(f"diagnose.source.{each.source}")
        output.row(made, source, each.worker or each.node or "", each.rule or "", each.text)
    return made


def found_view(found: Iterable[Found]) -> Table:
    """Return every line that a rule matched, with what that rule says."""
    titles = ("place", "rule", "role", "blame", "action", "line")
    made = output.table(*(say(f"diagnose.column.{title}") for title in titles))
    for each in list(found)[:SHOWN]:
        rule = each.hit.rule
        output.row(
            made,
            f"{Path(each.file).name}:{each.hit.number}",
            rule.id + (f" ({say('diagnose.shadow')})" if rule.shadow else ""),
            say(f"diagnose.role.{rule.role}"),
            say(f"diagnose.blame.{rule.blame}"),
            say(f"diagnose.action.{rule.action}"),
            each.hit.text[:160],
        )
    return made


def rules_view(book: Rulebook) -> Table:
    """Return the rules as a list."""
    titles = ("rule", "scope", "role", "blame", "action", "what")
    made = output.table(*(say(f"diagnose.column.{title}") for title in titles))
    for rule in book.rules:
        output.row(
            made,
            rule.id + (f" ({say('diagnose.shadow')})" if rule.shadow else ""),
            say(f"diagnose.scope.{rule.scope}"),
            say(f"diagnose.role.{rule.role}"),
            say(f"diagnose.blame.{rule.blame}"),
            say(f"diagnose.action.{rule.action}"),
            words(rule.what),
        )
    return made


def judged_document(judged: Judged) -> dict[str, Any]:
    """Return everything as plain values; keys are stable."""
    return {
        "diagnosis": judged.diagnosis.model_dump(mode="json"),
        "files": [{"file": log.name, "worker": f"worker-{log.rank}"} for log in judged.logs],
        "hits": [
            {
                "file": each.file,
                "worker": each.worker,
                "line": each.hit.number,
                "at": each.hit.at.isoformat() if each.hit.at else None,
                "peer": each.hit.peer,
                "code": each.hit.code,
                "text": each.hit.text,
                **_brief(each.hit.rule),
            }
            for each in judged.found
        ],
    }


def _brief(rule: Rule) -> dict[str, Any]:
    names = ("scope", "role", "blame", "kind", "action", "weak", "shadow")
    return {"rule": rule.id, **{name: getattr(rule, name) for name in names}}


def rules_document(book: Rulebook) -> dict[str, Any]:
    """Return the rules as plain values; keys are stable."""
    return {"version": book.version, "rules": [_whole(rule) for rule in book.rules]}


def _whole(rule: Rule) -> dict[str, Any]:
    return _brief(rule) | {
        "group": rule.group,
        "what": {"en": rule.what.en, "zh": rule.what.zh},
        "advice": rule.advice.model_dump() if rule.advice else None,
        "pattern": rule.pattern.pattern,
        "codes": sorted(rule.codes),
        "stages": sorted(rule.stages),
        "exit_codes": sorted(rule.exit_codes),
        "note": rule.note,
    }


def fault_text(fault: Fault) -> str:
    """Say what is wrong with a rule, and the remedy, in the language that is spoken."""
    return fault.text(chinese=language() == "zh")


def fault_document(fault: Fault) -> dict[str, str]:
    """Return a fault as plain values; keys are stable."""
    names = ("file", "rule", "field", "code")
    return {name: getattr(fault, name) for name in names} | {"text": fault_text(fault)}
