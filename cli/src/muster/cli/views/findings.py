"""What `muster doctor` found, the worst last, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from muster.cli.checkup.finding import Finding, Severity
from muster.cli.texts import say
from muster.cli.words import plain

_LOOKS = {
    Severity.FINE: ("✓", "green"),
    Severity.NOTE: ("·", "cyan"),
    Severity.WARNING: ("!", "yellow"),
    Severity.PROBLEM: ("✗", "bold red"),
}


def findings_view(findings: Iterable[Finding]) -> Group:
    """Return one line for each, two where there is a remedy."""
    lines: list[RenderableType] = []
    for finding in findings:
        mark, style = _LOOKS[finding.severity]
        lines.append(Text.assemble((f"{mark} ", style), plain(finding.message)))
        if finding.remedy:
            lines.append(Text.assemble("    ", (say("remedy"), "dim"), plain(finding.remedy)))
    return Group(*lines)
