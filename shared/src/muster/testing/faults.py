"""How often what goes wrong in a world: probabilities at each chance, weights among choices."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from muster.log.memory import LogFault
from muster.testing.dice import Dice


@dataclass(frozen=True, slots=True)
class Faults:
    """The first group are probabilities, the second weights beside those of ordinary choices.

    burst: how likely a coroutine goes on through a gate without giving way to others.
    """

    stale: float = 0.0
    lost_write: float = 0.0
    unknown_stored: float = 0.0
    unknown_lost: float = 0.0
    lost_timer: float = 0.0
    lost_acknowledgement: float = 0.0
    double_delivery: float = 0.0
    lost_alarm: float = 0.0
    double_alarm: float = 0.0
    early_alarm: float = 0.0
    database_away: float = 0.0
    cluster_away: float = 0.0

    crash: float = 0.0
    pause: float = 0.0
    clock_step: float = 0.0
    skew: float = 0.0
    poison: float = 0.0

    burst: float = 0.9

    def order(self, operation: str, dice: Dice) -> LogFault:
        """Decide how one operation goes."""
        match operation:
            case "last" | "follow":
                return LogFault.STALE if dice.chance(self.stale) else LogFault.NONE
            case "append" | "append_all":
                return self._write(dice)
            case "timer":
                return LogFault.LOST if dice.chance(self.lost_timer) else LogFault.NONE
            case "database":
                return LogFault.LOST if dice.chance(self.database_away) else LogFault.NONE
            case _ if operation.startswith("cluster"):
                return self._effect(dice)
            case _:
                return LogFault.NONE

    def _write(self, dice: Dice) -> LogFault:
        if dice.chance(self.lost_write):
            return LogFault.LOST
        if dice.chance(self.unknown_stored):
            return LogFault.UNKNOWN_STORED
        return LogFault.UNKNOWN_LOST if dice.chance(self.unknown_lost) else LogFault.NONE

    def _effect(self, dice: Dice) -> LogFault:
        if not dice.chance(self.cluster_away):
            return LogFault.NONE
        return dice.one_of((LogFault.LOST, LogFault.UNKNOWN_STORED))


CALM = Faults()

ROUGH = Faults(
    stale=0.15,
    lost_write=0.05,
    unknown_stored=0.08,
    unknown_lost=0.05,
    lost_timer=0.3,
    lost_acknowledgement=0.15,
    double_delivery=0.15,
    lost_alarm=0.3,
    double_alarm=0.2,
    early_alarm=0.15,
    database_away=0.05,
    cluster_away=0.08,
    crash=0.6,
    pause=0.5,
    clock_step=0.1,
    skew=0.3,
    poison=0.05,
)
"""Everything at once, each as strong as it gets."""


def drawn(dice: Dice, most: Faults = ROUGH) -> Faults:
    """Return a mixture of its own for a seed: each fault absent, weak or strong.

    Worlds in which only some things fail go deeper than one in which everything always does.
    """
    changes: dict[str, float] = {}
    for each in fields(most):
        strength = dice.one_of((0.0, 0.0, 0.4, 1.0))
        changes[each.name] = getattr(most, each.name) * strength
    changes["burst"] = dice.one_of((0.3, 0.8, 0.95))
    return replace(most, **changes)
