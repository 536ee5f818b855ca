"""What people ask fault tolerance, and the answers: core NATS, request and reply.

A question is JSON on `faults.<pool>.<kind>`; any replica answers, from what it has seen itself: it
changes nothing, and nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from muster.domain.model import Frozen, Strict, Token


class FaultQuestion(Strict):
    """Base of the questions."""

    kind: ClassVar[str]


class AskHang(FaultQuestion):
    """Is this job watched for hangs, what does each family of signals say, and since when?"""

    kind: ClassVar[str] = "hang"
    tenant: Token
    job: Token


class FamilySays(Frozen):
    """family: progress, device, process or framework. sign: moving, still or unknown.

    why: a code for the reason. seconds: for how long it has been still. worker: who stands out.
    """

    family: str
    sign: str
    why: str = ""
    seconds: float = 0.0
    worker: str | None = None


class HangAnswer(Frozen):
    """How one attempt looks to the replica that answers. Times are seconds.

    unarmed: why its silence is not judged, as a code; None = it is. watched_s: for how long this
    replica has seen it without a hole. stage: first_step, training, or the declared phase.
    limit_s: how long this stage may go without progress; silent_s: how long it has. window_s: for
    so long the other families must be still, too; contradicted_s: after so long people are told
    although one of them says that something goes on. proven: the job tells of its steps, so that
    its silence counts. suspected: it hangs, as far as can be told; doubtful: one family says that
    something goes on, so it is only told. p99_s, longest: what was learned of its own pace.
    """

    tenant: Token
    job: Token
    attempt: int
    unarmed: str | None = None
    restart: bool = False
    user_window_s: int | None = None
    watched_s: float | None = None
    stage: str = ""
    step: int | None = None
    silent_s: float = 0.0
    limit_s: float = 0.0
    window_s: float = 0.0
    contradicted_s: float = 0.0
    proven: bool = False
    suspected: bool = False
    doubtful: bool = False
    worker: str | None = None
    p99_s: float | None = None
    longest: Mapping[str, float] = {}
    families: tuple[FamilySays, ...] = ()


FAULT_QUESTIONS: dict[str, type[FaultQuestion]] = {
    question.kind: question for question in FaultQuestion.__subclasses__()
}
"""kind -> model."""
