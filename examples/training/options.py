"""The command line and the paths from the environment. `train.py` calls it."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """The command line; times in seconds, the rest in steps."""

    steps: int
    step_time: float
    checkpoint_every: int
    report_every: int
    fail_at: int
    seed: int
    join_timeout: float
    peer_timeout: float


def parse(arguments: list[str]) -> Options:
    """The options; argparse ends the process with exit code 2 when one is wrong."""
    parser = argparse.ArgumentParser(
        description="Learn to tell two spirals apart, in several processes that share each step.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--steps", type=count, default=300, help="train up to this step")
    add("--step-time", type=seconds, default=0.0, help="least duration of a step, to watch it")
    add("--checkpoint-every", type=count, default=20, help="steps between two checkpoints")
    add("--report-every", type=count, default=10, help="steps between two printed lines")
    add("--fail-at", type=natural, default=0, help="first attempt: last rank exits with 7 at it")
    add("--seed", type=natural, default=0, help="decides data, weights and order")
    add("--join-timeout", type=seconds, default=60.0, help="how long to wait for other ranks")
    add("--peer-timeout", type=seconds, default=120.0, help="silence after which a rank is lost")
    return Options(**vars(parser.parse_args(arguments)))


def natural(text: str) -> int:
    """0, 1, 2, ..."""
    if (value := int(text)) < 0:
        raise ValueError
    return value


def count(text: str) -> int:
    """1, 2, 3, ..."""
    if (value := int(text)) < 1:
        raise ValueError
    return value


def seconds(text: str) -> float:
    """Not negative, and finite."""
    if not 0.0 <= (value := float(text)) < float("inf"):
        raise ValueError
    return value


def path_in(variable: str) -> Path | None:
    """The path in an environment variable, None when it is not set."""
    named = os.environ.get(variable)
    return Path(named) if named else None
