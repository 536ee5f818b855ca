"""The beginning of a rule for a failure that no rule knows yet: a person completes it. Pure.

What it is made from came out of a job: it is data, quoted for YAML and escaped for the pattern.
"""

from __future__ import annotations

import json
import re

from muster.fault_tolerance.core.fingerprint import normalised
from muster.fault_tolerance.core.lines import lines

LONGEST = 160
"""Characters of a line that the pattern is made of."""
_SIGN = re.compile(r"<[a-z]+>")
_WORD = re.compile(r"[A-Za-z]{4,}")
_TELLING = re.compile(
    r"error|exception|fail|fatal|abort|refused|timed out|cannot|unable", re.IGNORECASE
)


def skeleton(fingerprint: str, excerpt: str) -> str:
    """Return YAML that passes the check of rules, in shadow, for a site's own folder.

    Raises ValueError for an excerpt of which no pattern can be made.
    """
    line = _telling_line(excerpt)
    part = _lasting(line)
    if not _WORD.search(part):
        raise ValueError(f"no line of {fingerprint} has a word that a rule could look for")
    values = {
        "pattern": re.escape(part),
        "example": line,
        "miss": "12/100 3.45",
        "en": f"Not known yet (seen as {fingerprint}).",
        "zh": f"尚未归类（指纹 {fingerprint}）。",
    }
    quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
    return _YAML.format(name=f"site.f{fingerprint[:12]}", **quoted)


def _telling_line(excerpt: str) -> str:
    """Return the last line that sounds like a cause, or the last one of all."""
    told = [line.text.strip() for line in lines(excerpt) if line.text.strip()]
    found = [text for text in told if _TELLING.search(text)]
    last = (found or told or [""])[-1][:LONGEST]
    # YAML knows no control characters, not even in quotes
    return "".join(sign if sign.isprintable() else "?" for sign in last)


def _lasting(line: str) -> str:
    """Return the longest part of a line that does not differ between two runs."""
    parts = (part.strip() for part in _SIGN.split(normalised(line)))
    return max((part for part in parts if part in line), key=len, default="")


_YAML = """\
# Put this into a file of rules_dir; `muster diagnose --check FOLDER` checks it.
# Add a healthy line that looks like it to near_misses.
# It is in shadow: seen and counted, and it decides nothing until you take that line out.
group: site
rules:
  - id: {name}
    scope: log
    blame: unknown
    kind: either
    action: retry
    shadow: true
    what:
      en: {en}
      zh: {zh}
    pattern: {pattern}
    examples:
      - {example}
    near_misses:
      - {miss}
"""
