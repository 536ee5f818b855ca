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
_NAME = re.compile(
    r"(?i)(?:^|_)(?:token|secret|passw(?:or)?d|pwd|credentials?|(?:api|access|secret|private)_?key)$"
)


def is_secret_name(variable: str) -> bool:
    """Tell whether a variable's name says that its value is a secret."""
    return _NAME.search(variable) is not None  # TOKENIZERS_PARALLELISM is none


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with each of the secrets, and all that looks like one, masked."""
    own = _own(secrets)
    if own is not None:
        text = own.sub(MASK, text)
    text = _BLOCK.sub(rf"\1{MASK}", text)
    text = _NAMED.sub(rf"\1{MASK}", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    return _KEYS.sub(MASK, _LOGIN.sub(f"//{MASK}@", text))


def _own(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """A value of several lines is masked as a whole and line by line; the longest first."""
    values = {value.strip() for value in secrets}
    lines = {line.strip() for value in values for line in value.splitlines()}
    values |= {line for line in lines if len(line) >= ANYWHERE}
    known = sorted(filter(None, values), key=len, reverse=True)
    return re.compile("|".join(map(_pattern, known))) if known else None


def _pattern(value: str) -> str:
    plain = re.escape(value)
    return plain if len(value) >= ANYWHERE else rf"(?<!\w){plain}(?!\w)"
