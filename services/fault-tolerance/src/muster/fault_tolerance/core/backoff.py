"""How long to wait before the next attempt, by what failed. Pure: the jitter is a hash.

Jobs that failed together must not come back together, and every replica must come to the same
wait; so chance is taken from the job's name and attempt.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from muster.domain.diagnosis import Blame

KEEPS_NODES = timedelta(minutes=5)
"""A wait of so long keeps the nodes; a longer one gives them back."""
LONGEST = timedelta(minutes=10)
_JITTER = 0.25
_FIRST_S = {
    Blame.STORAGE: 30.0,
    Blame.NETWORK: 30.0,
    Blame.PLATFORM: 30.0,
    Blame.DATA: 30.0,
}
"""Seconds before the first retry. Of the rest, the first retry is at once."""
_AGAIN_S = 10.0
PAUSE = timedelta(minutes=10)
"""While an incident goes on, a job looks again so often."""
_SPREAD = timedelta(minutes=5)


def chance(key: str) -> float:
    """Return a number in [0, 1) that is always the same for a key."""
    digest = hashlib.blake2s(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def wait(blame: Blame, again: int, key: str) -> timedelta:
    """Return the wait before the retry of a failure that has come `again` times in a row."""
    first = _FIRST_S.get(blame)
    if first is not None:
        seconds = first * 2**again
    else:
        seconds = _AGAIN_S * 2 ** (again - 1) if again else 0.0
    bounded = min(seconds, LONGEST.total_seconds())
    return timedelta(seconds=bounded * (1 + _JITTER * chance(key)))


def after_pause(key: str) -> timedelta:
    """Return how long a job waits while an incident goes on: spread, so that none storms back."""
    return PAUSE + _SPREAD * chance(key)
