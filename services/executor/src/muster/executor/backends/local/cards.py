"""Which GPUs of a node its workers have: whole ones, and which GPU each shared card is.

The scheduler numbers the shared cards of a node. Here a number stands for one GPU as long as any
worker on it lives; when the last one has ended it may stand for another. All of it is derived from
the workers' own records, so nothing is lost with the process that chose. Pure; `launching` fills it
and asks while it holds the lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WHOLE = 1000
"""Thousandths of one GPU."""


@dataclass(slots=True)
class Gpus:
    """The GPUs of one node that living workers have. shared: GPU -> [card, thousandths given]."""

    whole: set[int] = field(default_factory=set)
    shared: dict[int, tuple[int | None, int]] = field(default_factory=dict)

    def hold(self, gpus: Sequence[int], card: int | None, milli: int) -> None:
        """Note what a worker has."""
        if not milli:
            self.whole.update(gpus)
        for gpu in gpus if milli else ():
            _, given = self.shared.get(gpu, (card, 0))
            self.shared[gpu] = (card, given + milli)

    def free(self, count: int, foreign: int) -> tuple[int, ...]:
        """Return the GPUs of a node with `count` of them that nobody has, lowest first.

        foreign: so many are others'; which ones nobody says, so the last free ones are left alone.
        """
        unused = [n for n in range(count) if n not in self.whole and n not in self.shared]
        return tuple(unused[: max(0, len(unused) - foreign)])

    def share(self, card: int | None, milli: int, count: int, foreign: int) -> int | None:
        """Return the GPU that a shared card is; a free one for a card that nobody is on."""
        for gpu, (holder, given) in sorted(self.shared.items()):
            if holder == card and gpu < count and given + milli <= WHOLE:
                return gpu
        return next(iter(self.free(count, foreign)), None)
