"""Times, durations and other small things, as people read and write them."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from muster.cli.texts import language, say
from muster.domain.causes import cause_zh

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])", re.ASCII)


def cause_words(cause: str) -> str:
    """Return why a job had to leave, in the language that is spoken; in English it is the code."""
    return cause_zh(cause) if language() == "zh" else cause


def duration(text: str) -> float:
    """Read "30s", "5m", "2h" or "1d"; returns seconds. Raises typer.BadParameter."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(say("usage.duration"))
    return float(found[1]) * _UNITS[found[2]]


def since(text: str | None, now: datetime) -> datetime | None:
    """Read "10m" (that long before `now`) or an instant. Raises typer.BadParameter."""
    if text is None:
        return None
    if _DURATION.fullmatch(text.strip()):
        return now - timedelta(seconds=duration(text))
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(say("usage.since")) from error
    return instant.astimezone(UTC)


def labels(texts: list[str]) -> dict[str, str]:
    """Read `key=value` options. Raises typer.BadParameter."""
    pairs = [text.partition("=") for text in texts]
    if not all(key and separator for key, separator, _ in pairs):
        raise typer.BadParameter(say("usage.label"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def span(seconds: float) -> str:
    """Return a duration in at most two units: "0.4s", "42s", "3m20s", "5h12m", "2d4h"."""
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def between(start: datetime, end: datetime) -> str:
    """Return the span from one instant to another."""
    return span((end - start).total_seconds())


def clock(at: datetime) -> str:
    """Return the local time of day with milliseconds."""
    return at.astimezone().strftime("%H:%M:%S.%f")[:-3]


def moment(at: datetime) -> str:
    """Return the local date and time with its zone."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def program() -> str:
    """Return how `muster` is called from here: by its name where the shell finds it."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{sys.executable} -m muster.cli"
    found = shutil.which(called.name)
    if found is not None and Path(found).resolve() == called.resolve():
        return called.name
    here = called.absolute()
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)


def plain(text: str) -> str:
    """Return text without characters that could steer a terminal; they become a visible mark."""
    return "".join(
        char if char == "\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} else "�"
        for char in text
    )
