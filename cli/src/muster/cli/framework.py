"""The words of the command-line framework itself, in Chinese where Chinese is spoken.

The framework asks `gettext` for every text, and reads it once, when it is imported; so this must
run before that. Called by `main`.
"""

from __future__ import annotations

import gettext

from muster.cli.catalogue.framework import WORDS


def translate(language: str) -> None:
    """Let the framework speak a language, if it does not already."""
    if language == "zh":
        gettext.gettext = lambda message: WORDS.get(message, message)
