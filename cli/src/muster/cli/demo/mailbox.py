"""What the chat bot on this machine has received, and whether it is what it should be.

Pure but for the clock that the receiver is given. The signature is computed again here, from the
message itself, so that "verified" is not only the receiver's word.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.cli.demo.evidence import Judgement
from muster.domain.phases import SHOWN_TEXT, Shown
from muster.notifier.sandbox import Received


@dataclass(frozen=True, slots=True)
class Letter:
    """One message. about: id of the job. state: the word in its title. verified: its signature.

    words: what it says first, below the title.
    """

    title: str
    words: str
    about: str
    state: Shown | None
    verified: bool
    at: float


Expected = Mapping[str, Mapping[Shown, int]]
"""job -> state -> how many notices."""


def letters(received: Iterable[Received], secret: str, jobs: Iterable[str]) -> list[Letter]:
    """Read what was received, in order."""
    known = tuple(jobs)
    return [
        Letter(
            title=message.title,
            words=next(iter(message.text.splitlines()[1:]), ""),
            about=next((job for job in known if job in message.text), ""),
            state=_state(message.title),
            verified=_is_signed(message.body, secret),
            at=message.at,
        )
        for message in received
    ]


def _state(title: str) -> Shown | None:
    word = title.partition(" · ")[0]
    return next((shown for shown, texts in SHOWN_TEXT.items() if word in texts), None)


def _is_signed(body: Mapping[str, object], secret: str) -> bool:
    key = f"{body.get('timestamp')}\n{secret}".encode()
    digest = base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
    return hmac.compare_digest(digest, str(body.get("sign")))


def judge_letters(found: Sequence[Letter], expected: Expected) -> list[Judgement]:
    """Judge: every notice exactly once, nothing else, each one signed."""
    wanted: Counter[tuple[str, Shown | None]] = Counter()
    for job, states in expected.items():
        wanted.update({(job, state): count for state, count in states.items()})
    got = Counter((letter.about, letter.state) for letter in found)
    missing, extra = (wanted - got).total(), (got - wanted).total()
    counts = {"count": wanted.total(), "missing": missing, "extra": extra}
    unsigned = sum(not letter.verified for letter in found)
    return [
        Judgement("letters", not missing and not extra, counts),
        Judgement("signed", bool(found) and not unsigned, {"count": len(found) - unsigned}),
    ]
