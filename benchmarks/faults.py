"""How well failures are told apart: one JSON line for each policy and split.

`make bench-faults`, or `ARGS="--misses"` for what Muster judges wrongly among the cases that rules
may be tuned on, and `ARGS="--table"` for the table of `docs/fault-tolerance-scoreboard.md`. Every
labelled case of `benchmarks/fault_cases` is lived through under each policy; Muster's is the
diagnosis and the verdict of production with the rules that it ships.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faults_cases import Labelled, Split, load
from benchmarks.faults_lives import Lived, live
from benchmarks.faults_muster import muster
from benchmarks.faults_policies import OTHERS, Policy
from benchmarks.faults_score import Score, score, true_side, wrong_ledger
from muster.fault_tolerance.rulebook import shipped

SPLITS = {
    "tuned": {Split.TUNED},
    "held_out": {Split.HELD_OUT},
    "all": set(Split),
}


def policies() -> dict[str, Policy]:
    """Return every policy, Muster first."""
    return {"muster": muster(shipped()), **OTHERS}


def lives(cases: list[Labelled], policy: Policy) -> list[Lived]:
    """Live every case through."""
    return [live(labelled, policy) for labelled in cases]


def scores(cases: list[Labelled]) -> Iterator[tuple[str, str, Score]]:
    """Return (policy, split, figures). Saved: against trying again blindly."""
    lived = {name: lives(cases, policy) for name, policy in policies().items()}
    for split, parts in SPLITS.items():
        figures = {name: score(_of(parts, every)) for name, every in lived.items()}
        blind = figures["retry_3"].gpu_hours_lost
        for name, one in figures.items():
            yield name, split, replace(one, gpu_hours_saved=blind - one.gpu_hours_lost)


def _of(parts: set[Split], every: list[Lived]) -> list[Lived]:
    return [one for one in every if one.labelled.split in parts]


def missed(lived: Lived) -> list[str]:
    """Return in words what Muster judges otherwise than the label."""
    label, first = lived.labelled.label, lived.first
    side = true_side(label)
    if label.class_ == "order":
        return ["a ledger pays for our own order"] if wrong_ledger(lived) else []
    told = {
        f"side {first.side}, not {side}": side is not None and first.side != side,
        "stopped": label.retry and not first.again,
        f"retried {lived.retries} times": not label.retry and lived.retries > 0,
        "not healed": label.retry and not lived.healed,
        f"nodes {first.nodes}, not {label.guilty}": set(first.nodes) != set(label.guilty),
        f"pays {first.ledger}, not {label.ledger}": wrong_ledger(lived),
    }
    return [text for text, holds in told.items() if holds]


def _misses(cases: list[Labelled]) -> None:
    tuned = [labelled for labelled in cases if labelled.split is Split.TUNED]
    for lived in lives(tuned, policies()["muster"]):
        if found := missed(lived):
            name, lines = lived.labelled.name, lived.labelled.label.lines
            print(f"{name} ({lines}, rule {lived.first.rule}): {'; '.join(found)}")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="of the tuned cases, in words")
    asked = parser.parse_args()
    cases = load()
    if asked.misses:
        _misses(cases)
        return 0
    for policy, split, one in scores(cases):
        print(json.dumps({"bench": "faults", "policy": policy, "split": split} | one.told()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
