"""Every case lived through under a policy: what is tried, what comes of it, what it costs.

A failed attempt costs its gang's GPUs for as long as it starts and runs. A stop is free, but where
the job should have gone on: then its GPUs stand idle until a person comes. The work that the first
failure lost is lost under every policy and not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.faults_cases import Labelled
from benchmarks.faults_policies import Answer, Policy
from muster.domain.nodes import NodeCondition

START_S = 300.0
"""From the decision until the training runs: placement, image, rendezvous, loading."""
CHECKPOINT_S = 1800.0
"""The training saves so often: an attempt that fails the same way fails by then."""
PERSON_S = 3600.0
"""Until somebody starts again what should not have stood still."""
LIMIT = 12


@dataclass(slots=True)
class Lived:
    """One case under one policy. healed: it went on without a person. lost_s: seconds of its gang
    that came to nothing."""

    labelled: Labelled
    answers: list[Answer] = field(default_factory=list)
    retries: int = 0
    healed: bool = False
    lost_s: float = 0.0

    @property
    def first(self) -> Answer:
        """The answer to the first failure."""
        return self.answers[0]

    @property
    def gpu_hours(self) -> float:
        """What was lost, in GPU hours."""
        return self.lost_s * self.labelled.case.gpus / 3600


def live(labelled: Labelled, policy: Policy) -> Lived:
    """Live one case through until it runs, is stopped, or a person must come."""
    case, label = labelled.case, labelled.label
    lived, ask = Lived(labelled), policy(labelled)
    nodes = [f"n{number}" for number in range(case.workers)]
    elapsed = 0.0
    for attempt in range(2, LIMIT + 2):
        answer = ask(nodes)
        lived.answers.append(answer)
        if not answer.again:
            break
        lived.retries += 1
        elapsed += answer.wait_s + START_S
        lived.lost_s += answer.wait_s if answer.holds else 0.0
        _move(labelled, nodes, answer, attempt)
        if _runs(labelled, nodes, elapsed, answer):
            lived.healed = True
            return lived
        ran = min(case.ran_s, CHECKPOINT_S)
        lived.lost_s += START_S + ran
        elapsed += ran
    if label.retry or not lived.first.sees:
        lived.lost_s += PERSON_S
    return lived


def _move(labelled: Labelled, nodes: list[str], answer: Answer, attempt: int) -> None:
    """Place the next attempt: off the nodes to avoid, and never on one that is not there."""
    shown = labelled.case.nodes
    gone = {n for n, one in shown.items() if one.condition is not NodeCondition.READY}
    for number in {*answer.avoid, *gone}:
        nodes[number] = f"m{attempt}-{number}"


def _runs(labelled: Labelled, nodes: list[str], elapsed: float, answer: Answer) -> bool:
    """Tell whether the next attempt runs."""
    label = labelled.label
    match label.upon_retry:
        case "anywhere":
            return True
        case "elsewhere":
            return all(nodes[number] != f"n{number}" for number in label.guilty)
        case "later":
            return elapsed >= labelled.case.clears_s
        case "older":
            # only who looks at the checkpoints starts from the one before
            return answer.rule is not None
        case _:
            return False
