"""A job's failures as they are answered, and how they are made from its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel

from muster.domain.diagnosis import Diagnosis
from muster.domain.faulted import Faulted, faulted
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode
from muster.gateway.http.queries import Language
from muster.gateway.reading import Life


class FaultRow(BaseModel):
    """One failed attempt. verdict: the event that decided about it.

    code, text: the reason, with what to do. diagnosis: cause, evidence with its source, rule and
    version of the rules, ledgers before and after, nodes blamed and avoided, GPU hours lost; null
    in events of a time that had none. next_attempt: the one that followed; ran: it came to run.
    """

    attempt: int
    started_at: datetime | None
    failed_at: datetime | None
    judged_at: datetime
    verdict: str
    code: ReasonCode
    text: str
    advice: str | None
    nodes: Sequence[str]
    diagnosis: Diagnosis | None
    not_before: datetime | None
    next_attempt: int | None
    ran: bool
    phase: Phase | None


class FaultsPage(BaseModel):
    """Every failure of a job that was judged, the oldest first.

    origin: the job that this one was made to look into. gpu_hours: lost by all of them. missing:
    versions that neither log nor archive has (any more).
    """

    tenant: str
    job: str
    origin: str | None
    gpu_hours: float
    faults: Sequence[FaultRow]
    missing: Sequence[int]


def faults_page(life: Life, lang: Language) -> FaultsPage:
    """Return the failures that a job's timeline tells of."""
    events = (told.event for told in life.timeline)
    found = faulted((each.data.detail, each.data.job, each.time) for each in events)
    state = life.job.state
    return FaultsPage(
        tenant=state.tenant,
        job=state.job,
        origin=state.origin,
        gpu_hours=round(sum(each.diagnosis.gpu_hours for each in found if each.diagnosis), 3),
        faults=[_row(each, lang) for each in found],
        missing=list(life.missing),
    )


def _row(each: Faulted, lang: Language) -> FaultRow:
    advice = each.diagnosis.advice if each.diagnosis else None
    return FaultRow(
        attempt=each.attempt,
        started_at=each.started_at,
        failed_at=each.failed_at,
        judged_at=each.judged_at,
        verdict=each.event,
        code=each.reason.code,
        text=each.reason.text(lang),
        advice=None if advice is None else advice.zh if lang == "zh" else advice.en,
        nodes=each.nodes,
        diagnosis=each.diagnosis,
        not_before=each.not_before,
        next_attempt=each.next_attempt,
        ran=each.ran,
        phase=each.phase,
    )
