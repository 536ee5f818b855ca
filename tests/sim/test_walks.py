"""Random walks with every fault: the invariants hold, and a seed is the same walk for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from muster.cli.simulation.walks import simulate_faults, walk
from muster.testing.faults import CALM, ROUGH

SEEDS = 60
STEPS = 300


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_the_invariants_hold(first: int) -> None:
    for outcome in simulate_faults(range(first, first + 10), STEPS):
        told = "\n".join([f"seed {outcome.seed}: {outcome.text}", *outcome.report])
        assert not outcome.broken, told


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_they_hold_when_everything_fails_at_once(seed: int) -> None:
    outcome = walk(seed, STEPS, faults=ROUGH)
    assert not outcome.broken, "\n".join([outcome.text, *outcome.report])


@pytest.mark.parametrize("seed", range(2000, 2005))
def test_they_hold_when_nothing_fails(seed: int) -> None:
    outcome = walk(seed, STEPS, faults=CALM)
    assert not outcome.broken, "\n".join([outcome.text, *outcome.report])
    assert outcome.jobs > 0


def test_a_seed_is_the_same_walk_again() -> None:
    assert walk(7, STEPS).digest == walk(7, STEPS).digest
    assert walk(7, STEPS).digest != walk(8, STEPS).digest


def test_a_seed_is_the_same_walk_in_any_process() -> None:
    """Sets and dictionaries of text have another order there; no decision may depend on it."""
    digests = {_digests_with_hash_seed(number) for number in ("0", "1", "77")}
    assert len(digests) == 1


def _digests_with_hash_seed(number: str) -> tuple[str, ...]:
    program = (
        "import json, logging, structlog\n"
        "structlog.configure("
        "wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))\n"
        "from muster.cli.simulation.walks import walk\n"
        f"print(json.dumps([walk(seed, {STEPS}).digest for seed in range(40, 46)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": number, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(json.loads(done.stdout))
