"""The figures of a policy over many lives: `docs/reference/fault_scoreboard.md` defines each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.faults_cases import Class, Label
from benchmarks.faults_lives import Lived
from benchmarks.faults_policies import Side
from muster.domain.diagnosis import Blame

_DETERMINISTIC: frozenset[Class] = frozenset({"script"})


@dataclass(frozen=True, slots=True)
class Score:
    """Shares are 0-1; None = the policy says nothing of the kind."""

    cases: int
    wrong_stop: float
    wasted_config_retries: int
    wasted_script_retries: int
    blame_precision_user: float | None
    blame_precision_infra: float | None
    node_precision: float | None
    node_recall: float | None
    unknown: float | None
    unblamed: float | None
    wrong_ledger: int
    advice: float | None
    healed: float
    gpu_hours_lost: float
    gpu_hours_saved: float = 0.0

    def told(self) -> dict[str, object]:
        """Return it as it is printed."""
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def true_side(label: Label) -> Side | None:
    """Return whose failure it truly was, coarsely; None = nobody's."""
    match label.blame:
        case "none":
            return None
        case Blame.USER | Blame.DATA:
            return "user"
        case Blame.FRAMEWORK:
            return "framework"
        case Blame.UNKNOWN:
            return "unknown"
        case blame:
            return "infrastructure" if Blame(blame).infrastructure else "unknown"


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _precision(lives: Iterable[Lived], side: Side) -> float | None:
    return _share(
        [true_side(one.labelled.label) == side for one in lives if one.first.side == side]
    )


def wrong_ledger(lived: Lived) -> bool:
    """Tell whether a ledger paid that must not: the user's for infrastructure or for our order."""
    paid = {answer.ledger for answer in lived.answers if answer.again}
    label = lived.labelled.label
    if label.class_ == "order":
        return bool(paid - {"none"})
    if label.ledger in {"infrastructure", "hang"}:
        return "user" in paid
    return label.ledger == "user" and "infrastructure" in paid


def _nodes(lives: Iterable[Lived]) -> tuple[float | None, float | None]:
    lives = list(lives)
    blamed = [(n, one.labelled.label.guilty) for one in lives for n in one.first.nodes]
    guilty = [(n, one.first.nodes) for one in lives for n in one.labelled.label.guilty]
    return _share([n in found for n, found in blamed]), _share([n in found for n, found in guilty])


def _advised(lives: Iterable[Lived]) -> float | None:
    """Return how often a stop that is right names the field that must change."""
    stopped = [one for one in lives if not one.first.again and one.labelled.label.advice != "none"]
    return _share([_same_field(one.first.field, one.labelled.label.advice) for one in stopped])


def _same_field(told: str | None, true: str) -> bool:
    return told is not None and told.split(".", maxsplit=1)[0] == true.split(".", maxsplit=1)[0]


def _retries(lives: Iterable[Lived], classes: frozenset[Class]) -> int:
    return sum(one.retries for one in lives if one.labelled.label.class_ in classes)


def score(every: Sequence[Lived]) -> Score:
    """Return the figures of these lives. Our own orders count for the ledgers only."""
    lives = [one for one in every if one.labelled.label.class_ != "order"]
    retriable = [one for one in lives if one.labelled.label.retry]
    precision, recall = _nodes(lives)
    blames = any(one.first.side for one in lives)
    # who says nothing of whose it is, and gives no reason, has no unknown share either
    unknown = [not one.first.known for one in lives] if blames else []
    unblamed = [one.first.side in {None, "unknown"} for one in lives] if blames else []
    return Score(
        cases=len(lives),
        wrong_stop=_share([not one.first.again and one.first.sees for one in retriable]) or 0.0,
        wasted_config_retries=_retries(lives, frozenset({"config"})),
        wasted_script_retries=_retries(lives, _DETERMINISTIC),
        blame_precision_user=_precision(lives, "user"),
        blame_precision_infra=_precision(lives, "infrastructure"),
        node_precision=precision,
        node_recall=recall,
        unknown=_share(unknown),
        unblamed=_share(unblamed),
        wrong_ledger=sum(wrong_ledger(one) for one in every),
        advice=_advised(lives),
        healed=_share([one.healed for one in retriable]) or 0.0,
        gpu_hours_lost=sum(one.gpu_hours for one in lives),
    )
