"""Who may use spot capacity: what operators say, what is refused because of it, at every door."""

from __future__ import annotations

from typing import Any

import pytest

from muster.admission.handlers import Handlers
from muster.admission.settings import AdmissionSettings
from muster.contracts import subjects
from muster.contracts.requests import Answer
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.tenants import EVERYONE, SpotSet
from muster.log import Recorded
from muster.runtime.known import Known
from tests.admission.test_handlers import SPEC
from tests.admission.test_tenants import Tenants

SPOT = {"type": "spot"}
REFUSED = ["E_SPOT_DISABLED $.spec.resource.type: spot resources are not enabled for tenant acme"]


class Rights(Tenants):
    """A bench that sets rights. spot: what holds while nothing is said."""

    def __init__(self, spot: str = "open") -> None:
        super().__init__()
        settings = AdmissionSettings.model_validate({"spot": spot})
        journal, known = self.journal(Owner.ADMISSION), self.handlers._known
        self.handlers = Handlers(journal, self, known, settings)

    async def spot(self, enabled: bool, request: str = "p1", **more: Any) -> Answer:
        data = {"user": "op", "tenant": "acme", "enabled": enabled, **more}
        return await self.tell("set_spot", data, request)

    async def tried(self, request: str, **resource: Any) -> list[str]:
        found = await self.try_to_submit(request, resource=SPOT | resource)
        return [text.partition(";")[0] for text in found]


async def test_a_tenant_of_whom_nobody_spoke_may_use_spot_or_not_as_admission_is_set() -> None:
    assert await Rights().tried("s1") == []
    assert await Rights("granted").tried("s1") == REFUSED


async def test_what_holds_for_tenants_of_whom_nobody_spoke_stands_in_the_log() -> None:
    bench, key = Rights(), subjects.tenant_key(EVERYONE, SpotSet.event)
    await bench.handlers.start()
    assert await bench.log.end() == 0  # everybody may, as whoever reads nothing believes
    for kind, said in (("granted", [False]), ("granted", [False]), ("open", [False, True])):
        settings = AdmissionSettings.model_validate({"spot": kind})
        journal = bench.journal(Owner.ADMISSION)
        await Handlers(journal, bench, Known(bench.log), settings).start()
        told = [
            i.event.data.detail for i in await bench.log.history(key) if isinstance(i, Recorded)
        ]
        assert [fact.enabled for fact in told] == said


async def test_an_operators_word_holds_for_the_next_submission_and_can_be_taken_back() -> None:
    for kind in ("open", "granted"):
        bench = Rights(kind)
        assert (await bench.spot(False)).accepted
        assert await bench.tried("s1") == REFUSED
        assert (await bench.spot(True, "p2")).accepted
        assert await bench.tried("s2") == []


@pytest.mark.parametrize("kind", ["open", "granted"])
async def test_a_first_word_about_one_pool_says_nothing_of_the_others(kind: str) -> None:
    for enabled in (True, False):
        bench = Rights(kind)
        assert (await bench.spot(enabled, pool="other")).accepted
        assert await bench.tried("s1") == ([] if kind == "open" else REFUSED)


async def test_the_refusal_names_field_rule_and_remedy_in_both_languages() -> None:
    bench = Rights()
    await bench.spot(False)
    answer = await bench.submit("s1")
    (found,) = answer.violations
    assert (found.code, found.path) == ("E_SPOT_DISABLED", "$.spec.resource.type")
    assert "choose another resource type" in found.en
    assert "muster quota spot acme --on" in found.en
    assert found.zh.startswith("当前租户未开通 Spot 资源；")
    assert "muster quota spot acme --on" in found.zh
    assert answer.phase == "rejected"


@pytest.mark.parametrize("kind", ["on_demand", "reserved", "idle"])
async def test_other_classes_are_not_concerned(kind: str) -> None:
    bench = Rights("granted")
    assert await bench.tried("s1", type=kind) == []


async def test_a_pool_may_differ_until_a_word_for_all_pools_comes() -> None:
    bench = Rights()
    await bench.spot(False)
    await bench.spot(True, "p2", pool="west")
    assert await bench.tried("s1") == REFUSED
    assert await bench.tried("s2", pool="west") == []
    fact = await bench.fact(SpotSet)
    assert isinstance(fact, SpotSet)
    assert (fact.enabled, fact.pools, fact.requests) == (False, {"west": True}, ("p1",))
    await bench.spot(False, "p3")
    assert await bench.tried("s3", pool="west") == REFUSED


async def test_a_word_told_again_changes_nothing_even_after_another_one() -> None:
    bench = Rights()
    await bench.spot(False)
    await bench.spot(True, "p2")
    assert (await bench.spot(False)).accepted
    assert await bench.tried("s1") == []


async def test_a_parked_job_is_not_resumed_into_a_queue_in_which_it_would_never_start() -> None:
    bench = Rights()
    queue = {"enabled": True, "max_queue_hours": 1, "max_requeues": 0}
    answer = await bench.submit("s1", resource=SPEC["resource"], auto_queue=queue)
    assert answer.job is not None
    journal = bench.journal(Owner.REQUEUE)
    late = journal.about_job(await bench.last(answer.job), f.QueueTimedOut(entry=1))
    await journal.record(late)
    await bench.spot(False)
    again = {"user": "ann", "job": answer.job}
    refused = await bench.tell("resume", again, "r2")
    assert [(v.code, v.path) for v in refused.violations] == [("E_SPOT_DISABLED", "$.job")]
    assert (await bench.last(answer.job)).job.phase == "abnormal"
    await bench.spot(True, "p2")
    assert (await bench.tell("resume", again, "r3")).accepted


async def test_what_runs_or_waits_can_still_be_stopped() -> None:
    bench = Rights()
    answer = await bench.submit("s1")
    await bench.spot(False)
    assert (await bench.tell("stop", {"user": "ann", "job": answer.job}, "r2")).accepted
