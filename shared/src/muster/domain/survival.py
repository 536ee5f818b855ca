"""How long idle jobs keep their places: what is measured of it, and what each of them was told.

Made by the scheduler, from the log alone; carried by the pool fact `stability`, by `scheduled`, and
by the state of a job. Chances are between 0 and 1.
"""

from __future__ import annotations

from muster.domain.demand import StabilityLevel
from muster.domain.model import Frozen, Instant


class Outlook(Frozen):
    """What an idle job was told when it was placed. at: when that was.

    risk: the largest of its nodes. survive_1h, survive_6h: the chance of keeping such a place for
    so long, as it was measured then; None = too little was known.
    """

    at: Instant
    risk: float
    survive_1h: float | None = None
    survive_6h: float | None = None


class Chance(Frozen):
    """A measured chance of keeping a place. low, high: ends of the 95 % interval.

    known: stays of which it is known whether they lasted so long.
    """

    chance: float
    low: float
    high: float
    known: int


class BandSurvival(Frozen):
    """What places of about the same risk are worth, whoever had them.

    above, upto: the band is between them, its upper end included; None = without an end.
    survive_1h, survive_6h: never more than those of a band of less risk that is measured.
    """

    above: float | None = None
    upto: float | None = None
    stays: int = 0
    survive_1h: Chance | None = None
    survive_6h: Chance | None = None


class LevelSurvival(Frozen):
    """What a stability level is worth. stays: placements of idle jobs of this level.

    bound: the largest risk that a node may have for it, None = any; measured: whether the bound is
    where measurements want it, or on its way there, rather than where it is assumed to be right.
    survive_1h, survive_6h: None = too little is known. bands: what places are worth for its jobs,
    the least risk first; where too few of them were there, for all jobs.
    """

    level: StabilityLevel
    bound: float | None = None
    measured: bool = False
    stays: int = 0
    survive_1h: Chance | None = None
    survive_6h: Chance | None = None
    bands: tuple[BandSurvival, ...] = ()


class Foretold(Frozen):
    """Jobs that were told about the same chance. predicted: on average; observed: what came."""

    predicted: float
    observed: Chance


class Calibration(Frozen):
    """How true the chances were that jobs were told, for surviving so many hours.

    rows: the least chance first. brier: the mean squared error of single predictions, 0 = all of
    them sure and right, 0.25 = tossing a coin. error: what was predicted against what was observed,
    row by row, weighted by how much is known of each.
    """

    hours: int
    known: int
    brier: float
    error: float
    rows: tuple[Foretold, ...] = ()
