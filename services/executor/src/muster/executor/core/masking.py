"""What never leaves the executor with a line of output: values that are secrets, or look like one.

Pure. `lines.shown` and the tails of output pass through here, since both end up in events. A job's
own secret values are masked wherever they stand; for the rest only forms that are known to be keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
ANYWHERE = 6
"""Characters from which on a value is masked inside words, too; a shorter one only as a word."""

_NAMED = re.compile(
    r"(?i)((?:token|secret|passw\w{0,16}|credential\w{0,8}|(?:api|access|secret|private)[_-]?key)[\"']?"
    r"\s*[=:]\s*[\"']?)[^\s\"',;]+"
)
# Patterns begin at the beginning of a word or go on for a bounded length: a text costs its length.
_HEADER = re.compile(r"(?i)(\b(?:bearer|basic) )[A-Za-z0-9+/_.~-]{8,}=*")
_LOGIN = re.compile(r"//[^/\s@]+@")
_KEYS = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}|(?:AKIA|ASIA|LTAI)[A-Za-z0-9]{12,}|xox[abprs]-[\w-]{10,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"
)
_BLOCK = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----).*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_BLOCK_MARK = "PRIVATE KEY-----"
_NAME = re.compile(
    r"(?i)(?:^|_)(?:token|secret|passw(?:or)?d|pwd|credentials?|(?:api|access|secret|private)_?key)$"
)


def is_secret_name(variable: str) -> bool:
    """Tell whether a variable's name says that its value is a secret."""
    return _NAME.search(variable) is not None  # TOKENIZERS_PARALLELISM is none


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with each of the secrets, and all that looks like one, masked."""
    for value in _own(secrets):
        text = _without(text, value)
    if _BLOCK_MARK in text:
        text = _BLOCK.sub(rf"\1{MASK}", text)
    return "\n".join(map(_masked_line, text.split("\n")))


def _masked_line(line: str) -> str:
    """Patterns are slow where they find nothing, and words are fast: most lines have none."""
    low = line.lower()
    for hints, pattern, shown in _RULES:
        if any(hint in low for hint in hints):
            line = pattern.sub(shown, line)
    return line


_KEY_HINTS = (
    *("sk-", "hf_", "glpat-", "akia", "asia", "ltai", "xox", "eyj", "github_pat_"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
)
_RULES = (
    (("token", "secret", "passw", "credential", "key"), _NAMED, rf"\1{MASK}"),
    (("bearer ", "basic "), _HEADER, rf"\1{MASK}"),
    (("@",), _LOGIN, f"//{MASK}@"),
    (_KEY_HINTS, _KEYS, MASK),
)
"""Words of which one must be there, pattern, what is shown instead; in this order."""


def _own(secrets: Iterable[str]) -> list[str]:
    """A value of several lines is masked as a whole and line by line; the longest first."""
    values = {value.strip() for value in secrets}
    lines = {line.strip() for value in values for line in value.splitlines()}
    values |= {line for line in lines if len(line) >= ANYWHERE}
    return sorted(filter(None, values), key=len, reverse=True)


def _without(text: str, value: str) -> str:
    if len(value) >= ANYWHERE or value not in text:
        return text.replace(value, MASK)
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, text)
