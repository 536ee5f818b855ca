"""The page of the scoreboard, made by a run of the benchmark: `make docs`."""

from __future__ import annotations

from benchmarks.faults_cases import Labelled, Split
from benchmarks.faults_lives import CHECKPOINT_S, PERSON_S, START_S
from benchmarks.faults_policies import BUDGET, UNCOUNTED
from benchmarks.faults_score import Score

Row = tuple[str, str, Score]

_FIGURES: tuple[tuple[str, str], ...] = (
    ("wrong_stop", "of the failures that should be retried, the share that is stopped at once"),
    ("wasted_config_retries", "retries spent on what only the user's configuration can mend"),
    ("wasted_script_retries", "retries spent on what only the user's code or data can mend"),
    ("blame_precision_user", "of what is called the user's (or the data's), the share that is"),
    ("blame_precision_infra", "of what is called the infrastructure's, the share that is"),
    ("node_precision", "of the nodes that are blamed, the share that is guilty"),
    ("node_recall", "of the guilty nodes, the share that is blamed"),
    ("unknown", "share of the failures that nothing known explains"),
    ("unblamed", "share of the failures that nobody is blamed for, known or not"),
    ("wrong_ledger", "failures that a ledger pays for which should not, the unexplained included"),
    ("advice", "of the stops where a field must change, the share that names that field"),
    ("healed", "of the failures that should be retried, the share that runs on without a person"),
    ("gpu_hours_lost", "GPU hours of attempts that came to nothing, of waits, and of idle gangs"),
    ("gpu_hours_saved", "the same, less than under `retry_3`"),
)
_AT_MOST = {"wrong_stop": 0.01, "wasted_config_retries": 0, "unknown": 0.1}
_AT_LEAST = {"blame_precision_user": 0.95, "blame_precision_infra": 0.95, "node_precision": 0.9}
_NAMES = {"held_out": "held out"}


def intro(cases: list[Labelled]) -> str:
    """Return what is measured, and how."""
    held = sum(one.split is Split.HELD_OUT for one in cases)
    unseen = sum(one.label.lines == "unseen" for one in cases)
    return (
        f"{len(cases)} labelled failures ([how they were made](../../benchmarks/fault_cases/"
        f"README.md)), lived through under each policy by `make bench-faults`. {held} are held "
        f"out: no rule was tuned on them. {unseen} have telling lines that no list is likely to "
        "know. Those that ended by an order of our own are judged and not counted in the tables. "
        "Bold figures miss their goal. The cases are of this project's own writing, after "
        "published counts and public reports: the figures compare policies, they do not foretell "
        "a cluster's.\n\n"
        "`muster`: diagnosis, verdict and rules as shipped. `retry_3`: again, whatever it was. "
        "`kubeflow_exit_code`: exits 1-127 of any pod end the job, 128 and more restart it. "
        "`dlrover_exit_code`: 1, 134 and out of memory end it, 137 and 143 are relaunched without "
        f"counting (here at most {UNCOUNTED} times), the rest counts. Each has {BUDGET} retries."
    )


def figures(rows: list[Row]) -> str:
    """Return the tables: Muster on each split, then everybody on all and on what is held out."""
    ours = [row for row in rows if row[0] == "muster"]
    theirs = [row for row in rows if row[1] == "all"]
    return "\n\n".join(
        [
            "## Muster\n\n" + _table(ours, [_NAMES.get(split, split) for _, split, _ in ours]),
            "## All policies, all cases\n\n"
            + _table(theirs, [f"`{name}`" for name, _, _ in theirs]),
            "## What the figures mean\n\n" + _meanings(),
        ]
    )


def _meanings() -> str:
    lines = ["| figure | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in _FIGURES]
    return "\n".join(lines) + "\n\n" + _LIFE


_LIFE = (
    f"A life: each new attempt takes {START_S:.0f} s to start; what fails again does so after as "
    f"long as the first time, or after {CHECKPOINT_S:.0f} s, since it goes on from a checkpoint. "
    "On the same nodes the same node is to blame; only who avoids it leaves it, and only who waits "
    "long enough outlives an outage. Where a job should go on and does not, or stands still "
    f"unseen, its GPUs wait {PERSON_S:.0f} s for a person. What the first failure lost is lost "
    "under every policy and not counted. A hold for a person counts as a stop. A pod that is "
    "pending for ever is neither stopped nor retried."
)


def _table(rows: list[Row], heads: list[str]) -> str:
    lines = [
        "| figure | goal | " + " | ".join(heads) + " |",
        "|---|---" + "|---" * len(rows) + "|",
        "| cases | | " + " | ".join(str(one.cases) for _, _, one in rows) + " |",
    ]
    for name, _ in _FIGURES:
        cells = " | ".join(_cell(name, one) for _, _, one in rows)
        lines.append(f"| `{name}` | {_goal(name)} | {cells} |")
    return "\n".join(lines)


def _goal(name: str) -> str:
    if name in _AT_MOST:
        return f"≤ {_AT_MOST[name]}"
    return f"≥ {_AT_LEAST[name]}" if name in _AT_LEAST else ""


def _misses(name: str, value: float) -> bool:
    return value > _AT_MOST.get(name, value) or value < _AT_LEAST.get(name, value)


def _cell(name: str, one: Score) -> str:
    value = getattr(one, name)
    if value is None:
        return "—"
    whole = isinstance(value, int)
    text = str(value) if whole else f"{value:,.0f}" if "hours" in name else f"{value:.3f}"
    return f"**{text}**" if _misses(name, value) else text
