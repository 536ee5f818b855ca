"""Makes untrusted text safe to show: names, reasons and error texts come from people and pods.

`clean` is for the card's `plain_text` elements, where nothing is markup; it keeps the characters
and removes what cannot be shown or would deceive. `defuse` is for chat text messages, where some
characters are markup (a mention of everybody, a link): those become their full-width look-alikes.
"""

from __future__ import annotations

import unicodedata

_DEFUSED = str.maketrans(
    {"<": "＜", ">": "＞", "[": "［", "]": "］", "*": "＊", "`": "｀", "~": "～"}
)
_REPLACEMENT = "\ufffd"
# Characters that reorder what is shown after them; a name could impersonate another text.
_REORDERING = frozenset(
    map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return _REPLACEMENT
    if char.isspace() or category in {"Zl", "Zp"}:
        return " "
    if category == "Cc" or char in _REORDERING:
        return ""
    return char


def clean(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters without control or reordering characters."""
    line = " ".join("".join(_shown(char) for char in text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def defuse(text: str) -> str:
    """Return the text with everything that a chat would read as markup or as a link made inert."""
    return text.translate(_DEFUSED).replace("://", "：//")
