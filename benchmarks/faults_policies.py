"""What a policy answers to a failure, and the policies that Muster is compared with.

Theirs look at exits alone, as their code does; each is given the budget of a Muster job, so that
none loses for trying for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from benchmarks.faults_cases import Case, Labelled

BUDGET = 3
"""Retries that the user grants; what is retried for nothing has none in DLRover."""
UNCOUNTED = 10
"""After so many retries for nothing somebody looks."""

Side = Literal["user", "infrastructure", "framework", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is done about one failure.

    again: there is another attempt. sees: the policy knew that something was wrong at all. avoid:
    numbers of the nodes that the next attempt stays off; nodes: that are blamed. wait_s: before the
    next attempt; holds: its nodes stand idle during that. side: whose failure it is said to be;
    None = the policy does not say. ledger: what pays for the retry. field: to be changed.
    """

    again: bool
    sees: bool = True
    avoid: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    wait_s: float = 0.0
    holds: bool = True
    side: Side | None = None
    ledger: str = "user"
    field: str | None = None
    rule: str | None = None

    @property
    def known(self) -> bool:
        """Whether something known explains the failure; who has no rules says it by the side."""
        return self.rule is not None or self.side not in {None, "unknown"}


class Answers(Protocol):
    """One job under a policy: asked at every failure, with the names of its nodes."""

    def __call__(self, nodes: Sequence[str], /) -> Answer:
        """Answer to the next failure."""


Policy = Callable[[Labelled], Answers]


def _exits(case: Case) -> list[int | None]:
    """Return the exits of all that ended. A lost node's workers have none."""
    ends = [case.end_of(worker) for worker in range(case.workers)]
    return [end.exit for end in ends if not end.alive]


class _Blind:
    """Again, whatever it was. A job that stands still is not seen."""

    def __init__(self, labelled: Labelled) -> None:
        self._ended = bool(_exits(labelled.case))
        self._left = BUDGET

    def __call__(self, _nodes: Sequence[str], /) -> Answer:
        if not self._ended:
            return Answer(again=False, sees=False)
        self._left -= 1
        return Answer(again=self._left >= 0)


class _Kubeflow:
    """Training Operator, restartPolicy ExitCode: 1-127 is permanent, 128 and more is retried."""

    def __init__(self, labelled: Labelled) -> None:
        self._case = labelled.case
        self._left = BUDGET

    def __call__(self, _nodes: Sequence[str], /) -> Answer:
        exits = _exits(self._case)
        told = [code for code in exits if code is not None]
        lost = any(self._case.end_of(n).cause == "node_lost" for n in range(self._case.workers))
        if not told and not lost:
            # a pod that never ran is pending, and a pending pod is not a failed one
            return Answer(again=False, sees=False)
        if any(0 < code < 128 for code in told):
            return Answer(again=False, side="user")
        self._left -= 1
        return Answer(again=self._left >= 0, side="infrastructure")


_KILLED, _FATAL, _HARDWARE, _MEMORY = {137, 143}, {1, 134}, {201, 202, 14}, {247}


class _DLRover:
    """The master of an all-reduce job, as `PodWatcher` and `_should_relaunch` read exits.

    1 and 134 are fatal, memory is fatal, 137 and 143 are relaunched for nothing, the rest counts.
    """

    def __init__(self, labelled: Labelled) -> None:
        self._case = labelled.case
        self._left = BUDGET
        self._free = UNCOUNTED

    def __call__(self, _nodes: Sequence[str], /) -> Answer:
        case = self._case
        ends = [case.end_of(n) for n in range(case.workers) if not case.end_of(n).alive]
        ran = [end for end in ends if end.exit is not None or end.cause == "node_lost"]
        if not ran:
            return Answer(again=False, sees=False)
        if any(end.reason == "OOMKilled" or end.exit in _MEMORY for end in ran):
            return Answer(again=False, side="user")
        if any(end.exit in _FATAL for end in ran):
            return Answer(again=False, side="user")
        if all(end.exit in _KILLED or end.exit is None for end in ran):
            self._free -= 1
            return Answer(again=self._free >= 0, side="infrastructure", ledger="none")
        self._left -= 1
        hardware = any(end.exit in _HARDWARE for end in ran)
        return Answer(again=self._left >= 0, side="infrastructure" if hardware else "unknown")


OTHERS: dict[str, Policy] = {
    "retry_3": _Blind,
    "kubeflow_exit_code": _Kubeflow,
    "dlrover_exit_code": _DLRover,
}
