"""Every text that a person meets, by its key, in the language that `use` has set.

The words themselves are tables in `muster.cli.catalogue`, one for each part of the command line.
Values are data: what is put into a text is never read as markup.
"""

from __future__ import annotations

from muster.cli.catalogue import TEXTS
from muster.cli.language import LANGUAGES

_language = "en"


def use(language: str) -> None:
    """Speak this language from now on. Raises ValueError for one that there is not."""
    global _language  # noqa: PLW0603 - one process speaks one language to one person
    if language not in LANGUAGES:
        raise ValueError(language)
    _language = language


def language() -> str:
    """Return the language in use: "en" or "zh"."""
    return _language


def say(key: str, /, **values: object) -> str:
    """Return the text of a key. Raises KeyError for an unknown key or a missing value."""
    return pick(TEXTS[key]).format_map({name: str(value) for name, value in values.items()})


def pick(pair: tuple[str, str]) -> str:
    """Return the one of (English, Chinese) that is spoken."""
    return pair[LANGUAGES.index(_language)]
