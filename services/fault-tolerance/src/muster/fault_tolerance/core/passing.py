"""Whether the end of a worker's output speaks of what may be better next time. Pure.

Asked only where nothing known explains an end: a word of an outage, or of anything outside of the
job, is reason enough not to hold the job itself to be the cause.
"""

from __future__ import annotations

import re

from muster.domain.evidence import WorkerEvidence

_LAST = 5
_PASSING = re.compile(
    r"time[ds]?[ -]?out|unavailable|unreachable|refused|reset by|temporar|try again|retr(?:y|ies)|"
    r"gateway|connect|\bnetwork|socket|resolv|\b(?:5\d\d|429)\b|\brate\b|\bbusy\b|input/output|"
    r"\bstale|server|service|remote|https?:|respond|answer|licen[cs]e|download|upload|\block(?:ed)?\b|"
    r"\bvault\b|sealed|not ready|starting up|maintenance|draining|"
    r"超时|不可用|稍后|重试|连接|网络|服务|下载|维护",
    re.IGNORECASE,
)


def end_of(worker: WorkerEvidence) -> str:
    """Return the last lines of its output that have something in them."""
    lines = [line for line in worker.tail.splitlines() if line.strip()]
    return "\n".join(lines[-_LAST:])


def speaks_of_outside(worker: WorkerEvidence) -> bool:
    """Tell whether its last lines speak of what passes, or of what is not the job's."""
    return _PASSING.search(end_of(worker)) is not None
