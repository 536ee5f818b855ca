"""The only source of chance of a world: one seed, one sequence of choices, kept for a report."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

REMEMBERED = 200
"""Choices that a report shows at most."""


class Dice:
    """Draws everything that a world does not decide by rule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = Random(seed)
        self.choices: deque[str] = deque(maxlen=REMEMBERED)

    def chance(self, probability: float) -> bool:
        """Return True with this probability; certain answers draw nothing."""
        if probability <= 0:
            return False
        return probability >= 1 or self._random.random() < probability

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of some options, each equally likely."""
        return options[self._random.randrange(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Return one of some options by weight."""
        left = self._random.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            left -= weight
            if left < 0:
                return option
        return options[-1]

    def between(self, low: float, high: float) -> float:
        """Return a number between two, to the millisecond."""
        return round(low + self._random.random() * (high - low), 3)

    def whole(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        return self._random.randint(low, high)

    def note(self, choice: str) -> None:
        """Remember what was chosen, for a report."""
        self.choices.append(choice)
