"""Which language a person is spoken to in: `--lang`, else MUSTER_LANG, else the locale.

Decided once, before any command is built, so that help speaks it too. Called by `main`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LANGUAGES = ("en", "zh")
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def chosen(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return "en" or "zh". A value that is neither is left for the command line to refuse."""
    wanted = _option(arguments) or environ.get("MUSTER_LANG")
    if wanted in LANGUAGES:
        return wanted
    locale = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def _option(arguments: Sequence[str]) -> str | None:
    """Return the last `--lang X` or `--lang=X` before a bare `--`."""
    found = None
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--lang" and index + 1 < len(arguments):
            found = arguments[index + 1]
        elif argument.startswith("--lang="):
            found = argument.removeprefix("--lang=")
    return found
