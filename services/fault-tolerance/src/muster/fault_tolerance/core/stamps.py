"""Times and levels at the start of a line, in the forms that loggers, kernels and runtimes write.

A time without a zone is read as UTC: clocks of one job agree far better than their names for it,
and it is compared with other lines of the same job only.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_ISO = re.compile(
    r"""[\[(<]?(?P<y>20\d\d)[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T\s_]
    (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?
    \s?(?P<z>Z|UTC|[+-]\d\d:?\d\d)?[\])]?[\s:,|-]{0,4}(?:>>\s)?""",
    re.VERBOSE | re.ASCII,
)
_GLOG = re.compile(
    r"""\[?[IWEFD](?P<mo>\d\d?)(?P<d>\d\d)\s(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)
    (?:\.(?P<f>\d{1,9}))?\s{1,4}(?:\d+\s)?(?:[\w./-]+:\d+\]?\s?)?\]?\s?""",
    re.VERBOSE | re.ASCII,
)
_NAMED = re.compile(
    r"""\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s)?(?P<m>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)
    \s{1,2}(?P<d>\d{1,2})\s(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:\.(?P<f>\d{1,6}))?
    (?:\s(?P<y>20\d\d))?\]?\s{0,2}(?:[\w.-]+\s(?=kernel:))?""",
    re.VERBOSE | re.ASCII,
)
_BOOT = re.compile(
    r"<\d{1,3}>(?:\[\s{0,8}\d+\.\d{3,6}\]\s?)?|kernel:\s?(?:\[\s{0,8}\d+\.\d{3,6}\]\s?)?"
    r"|\[\s{0,8}\d+\.\d{3,6}\]\s?(?:kernel:\s?)?"
)
_CLOCK = re.compile(r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]?\s{1,3}", re.ASCII)
_LEVEL = re.compile(
    r"""(?:[\w.]{1,60}\s-\s)?                               # the logger, where it comes first
    (?:\[(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\|[\w./-]+:\d+\]\s(?:>>\s)?   # Transformers
    |\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?(?=[\s:|-])(?:\s{0,6}[:|-])?\s{1,4}
     (?:\[[\w./-]{1,80}(?::[\w<>.]+)*\]\s|[\w./-]{1,80}(?::[\w<>.]+)*\s[-|>]{1,2}\s
     |[\w./-]{1,80}:\d+:?\s)?)""",
    re.VERBOSE | re.ASCII,
)
FORMS = (_ISO, _GLOG, _NAMED, _CLOCK, _LEVEL, _BOOT)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HALF_A_YEAR = timedelta(days=183)


def either(*forms: re.Pattern[str]) -> re.Pattern[str]:
    """Return what tells at once whether a line begins with any of these: most lines do not."""
    bare = (re.sub(r"\(\?P<\w+>", "(?:", form.pattern) for form in forms)
    return re.compile("|".join(f"(?:{text})" for text in bare), re.VERBOSE | re.ASCII)


def stamp(line: str, near: datetime | None) -> tuple[datetime | None, int]:
    """Return the time that begins a line, if it is one, and how much of the line is no message."""
    for form in (_ISO, _GLOG, _NAMED):
        found = form.match(line)
        if found:
            return _instant(found, near), found.end()
    for form in (_CLOCK, _LEVEL, _BOOT):
        found = form.match(line)
        if found:
            return None, found.end()
    return None, 0


def _instant(found: re.Match[str], near: datetime | None) -> datetime | None:
    part = found.groupdict()
    month = int(part["mo"]) if part.get("mo") else _MONTHS.index(part["m"].lower()) + 1
    year = part.get("y") or (near.year if near else None)
    if year is None:
        return None
    try:
        moment = datetime(
            int(year),
            month,
            int(part["d"]),
            int(part["h"]),
            int(part["mi"]),
            int(part["s"]),
            int((part["f"] or "0")[:6].ljust(6, "0")),
            tzinfo=_zone(part.get("z")),
        )
        return (moment if part.get("y") or near is None else _nearest(moment, near)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text in {"Z", "UTC"}:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _nearest(moment: datetime, near: datetime) -> datetime:
    """Choose the year so that the moment lies within half a year of `near`."""
    if moment - near > _HALF_A_YEAR:
        return moment.replace(year=moment.year - 1)
    return moment.replace(year=moment.year + 1) if near - moment > _HALF_A_YEAR else moment
