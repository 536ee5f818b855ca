"""The labelled failures of `fault_cases`, read and checked: labels, what the cluster shows, split.

Read by the benchmark and by its tests. Nothing is judged here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, TypeAdapter

from muster.domain.diagnosis import Blame, Kind, Stage
from muster.domain.model import Frozen
from muster.domain.nodes import NodeCondition

FOLDER = Path(__file__).resolve().parent / "fault_cases"

Lines = Literal["known", "unseen", "none"]
Ledger = Literal["none", "user", "infrastructure", "hang"]
Class = Literal[
    "config",
    "script",
    "data",
    "storage",
    "infrastructure",
    "framework",
    "hang",
    "unexplained",
    "order",
]
UponRetry = Literal["same", "elsewhere", "anywhere", "later", "older"]


class Split(StrEnum):
    """tuned: rules may be improved by looking at it. held-out: they may not."""

    TUNED = "tuned"
    HELD_OUT = "held-out"


class Label(Frozen):
    """What truly happened. `fault_cases/README.md` says what each field means."""

    what: str
    class_: Class = Field(alias="class")
    blame: Blame | Literal["none"]
    kind: Kind
    retry: bool
    ledger: Ledger
    upon_retry: UponRetry
    stage: Stage
    guilty: tuple[int, ...] = ()
    advice: str = "none"
    lines: Lines = "known"
    trap: int | None = None
    looked_at: bool = False


class End(Frozen):
    """How workers ended. after: seconds after the first end. log: their last lines, `$name`: of
    the survivors' texts."""

    exit: int | None = None
    after: float = 0.0
    cause: str = "exited"
    reason: str = ""
    message: str = ""
    alive: bool = False
    log: str = ""


class Shown(Frozen):
    """What is seen of a node: its condition, and lines as (scope, seconds, text)."""

    condition: NodeCondition = NodeCondition.READY
    lines: tuple[tuple[Literal["kernel", "node", "event"], float, str], ...] = ()


class Before(Frozen):
    """The same failure in earlier attempts. apart: each time on other nodes."""

    times: int
    apart: bool
    ago_s: int


class Record(Frozen):
    """What other jobs have met on a node."""

    node: int
    users: int
    jobs: int
    suspected: bool
    last: tuple[str, ...]
    ago_s: int


class Others(Frozen):
    """The same in other jobs at the same time."""

    jobs: int
    users: int
    shared: str


class Case(Frozen):
    """One failed attempt as the cluster shows it. clears_s: when what `later` waits for is over."""

    gpus: Annotated[int, Field(ge=1)]
    workers: Annotated[int, Field(ge=1, le=8)]
    ran_s: float = 0.0
    step: int | None = None
    dress: str = "torchrun"
    ends: Mapping[str, End]
    nodes: Mapping[int, Shown] = {}
    order: str | None = None
    hung: int | None = None
    exited: bool = False
    complete: bool = False
    checkpoint_dir: str | None = None
    checkpoint: tuple[tuple[str, int, bool, str], ...] = ()
    before: Before | None = None
    records: tuple[Record, ...] = ()
    elsewhere: Others | None = None
    clears_s: int = 0

    def end_of(self, worker: int) -> End:
        """Return how one worker ended."""
        ends = self.ends
        return ends.get(str(worker)) or ends.get("rest") or ends["all"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A case with its truth."""

    name: str
    family: str
    split: Split
    label: Label
    case: Case


def _labels(path: Path) -> dict[str, dict[str, Label]]:
    told = yaml.safe_load(path.read_text(encoding="utf-8"))["families"]
    return {
        family: {
            name: Label.model_validate(about["defaults"] | own)
            for name, own in about["cases"].items()
        }
        for family, about in told.items()
    }


_CASES = TypeAdapter(dict[str, Case])


def _cases(path: Path) -> dict[str, Case]:
    if not path.exists():
        return {}
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    for one in told.values():
        one["ends"] = {str(of): end for of, end in one["ends"].items()}
    return _CASES.validate_python(told)


def set_aside(names: Iterable[str]) -> set[str]:
    """Return which cases of a family are held out: the first third by the digest of their names."""
    by_digest = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return set(by_digest[: round(len(by_digest) / 3)])


def load(folder: Path = FOLDER) -> list[Labelled]:
    """Return every case of both splits, with its label."""
    found: list[Labelled] = []
    for family, labels in _labels(folder / "labels.yaml").items():
        for split in Split:
            for name, case in _cases(folder / split / f"{family}.yaml").items():
                if name not in labels:
                    raise ValueError(f"{split}/{family}.yaml: {name} has no label")
                found.append(Labelled(name, family, split, labels[name], case))
    return found
