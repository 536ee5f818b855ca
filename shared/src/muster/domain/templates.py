"""Patterns of lines that a job may name: text with `*` for anything and `#` for a number.

Not regular expressions: whoever writes one cannot make the reader of somebody's output slow. Parts
between stars are searched one after the other, each from where the last one ended, and inside a
part nothing can be matched in two ways; so a line costs its length, whatever it and the pattern
hold. Upper and lower case are the same; a blank stands for one or more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TEMPLATES = 8
"""Of one kind in one job."""

LENGTH = 200
STARS = 8
STEP_MARK = "#"
_LEAST = 3
_STEP = r"(?<!\d)(\d{1,15})(?!\d)"


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern, ready to be searched for. parts: what stands between the stars, in order."""

    parts: tuple[re.Pattern[str], ...]

    def find(self, line: str) -> tuple[bool, int | None]:
        """Tell whether a line is meant, and the step that it names."""
        at, step = 0, None
        for part in self.parts:
            found = part.search(line, at)
            if found is None:
                return False, None
            at = found.end()
            if part.groups:
                step = int(found[1])
        return True, step


def well_formed(text: str, *, step: bool) -> bool:
    """Tell whether a text is a pattern: enough text, and one `#` where there must be one."""
    marks = text.count(STEP_MARK)
    letters = "".join(text.replace(STEP_MARK, "").replace("*", "").split())
    if len(text) > LENGTH or len(letters) < _LEAST or text.count("*") > STARS:
        return False
    return text.isprintable() and (marks == 1 if step else marks <= 1)


def template(text: str) -> Template:
    """Return a well-formed text as a pattern."""
    parts = (" ".join(part.split()) for part in text.split("*"))
    return Template(tuple(_compiled(part) for part in parts if part))


def _compiled(part: str) -> re.Pattern[str]:
    words = (_STEP.join(map(re.escape, word.split(STEP_MARK))) for word in part.split(" "))
    return re.compile(r"[ \t]+".join(words), re.IGNORECASE)
