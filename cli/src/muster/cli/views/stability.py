"""How long idle jobs keep their places: by level, by risk, and how true the predictions were."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.domain.pools import StabilityMeasured
from muster.domain.survival import BandSurvival, Calibration, Chance, LevelSurvival, Outlook


def stability_view(
    pool: str, found: StabilityMeasured | None, calibration: bool = False
) -> Iterator[RenderableType]:
    """Yield what is known of a pool. calibration: also by risk, and what predictions were worth."""
    if found is None:
        yield Text(say("stability.none", pool=pool))
        return
    yield Text(say("stability.title", pool=pool))
    yield _levels(found.levels)
    yield Text(say("stability.promise"), "dim")
    if not calibration:
        return
    yield _bands(found.bands)
    for one in found.calibration:
        yield Text(_how_true(one))
        yield _rows(one)
    if not found.calibration:
        yield Text(say("stability.calibration.none"))


def outlook_text(told: Outlook) -> str:
    """Return what an idle job was told when it was placed."""
    if told.survive_1h is None and told.survive_6h is None:
        return say("stability.outlook.none", risk=f"{told.risk:g}")
    one, six = _told(told.survive_1h), _told(told.survive_6h)
    return say("stability.outlook", one=one, six=six, risk=f"{told.risk:g}")


def _told(chance: float | None) -> str:
    return say("stability.unknown") if chance is None else percent(chance)


def percent(chance: float) -> str:
    """Return a chance in per cent; nothing is told as sure that is not."""
    return f"{chance * 100:.1f} %"


def _levels(levels: tuple[LevelSurvival, ...]) -> Table:
    titles = ("stability", "risk", "survive_1h", "survive_6h", "stays")
    made = table(*(say(f"column.{title}") for title in titles))
    for one in levels:
        chances = _chance(one.survive_1h), _chance(one.survive_6h)
        row(made, say(f"stability.{one.level}"), _bound(one), *chances, str(one.stays))
    return made


def _bound(one: LevelSurvival) -> str:
    if one.bound is None:
        return say("stability.any_risk")
    bound = say("stability.bound", bound=f"{one.bound:g}")
    return bound if one.measured else say("stability.assumed", bound=bound)


def _bands(bands: tuple[BandSurvival, ...]) -> Table:
    titles = ("risk", "survive_1h", "survive_6h", "stays")
    made = table(*(say(f"column.{title}") for title in titles))
    for band in bands:
        chances = _chance(band.survive_1h), _chance(band.survive_6h)
        row(made, _risk(band), *chances, str(band.stays))
    return made


def _risk(band: BandSurvival) -> str:
    if band.above is None:
        return f"{band.upto or 0:g}"
    if band.upto is None:
        return say("stability.band.last", above=f"{band.above:g}")
    return say("stability.band", above=f"{band.above:g}", upto=f"{band.upto:g}")


def _how_true(one: Calibration) -> str:
    values = {"error": percent(one.error), "brier": f"{one.brier:.3f}"}
    return say("stability.calibration", hours=one.hours, known=one.known, **values)


def _rows(one: Calibration) -> Table:
    titles = ("hours", "predicted", "observed", "known")
    made = table(*(say(f"column.{title}") for title in titles))
    for each in one.rows:
        told, came = percent(each.predicted), _chance(each.observed)
        row(made, str(one.hours), told, came, str(each.observed.known))
    return made


def _chance(chance: Chance | None) -> str:
    if chance is None:
        return say("stability.too_few")
    ends = {"low": percent(chance.low), "high": percent(chance.high)}
    return say("stability.chance", chance=percent(chance.chance), **ends)
