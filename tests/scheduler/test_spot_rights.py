"""A tenant without a right to spot: what it has goes on, what it has queued does not start."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.reasons import ReasonCode
from muster.domain.tenants import EVERYONE, SpotSet, TenantView
from muster.scheduler.core.doors import Shut
from muster.scheduler.core.explain import closed_to, explain_by
from muster.scheduler.core.fit import fit_of
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Order, Policy
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import decisions, node, placements, queued, running, victims, world


def rights(enabled: bool, **pools: bool) -> dict[str, TenantView]:
    fact = SpotSet(by="op", request="s", enabled=enabled, pools=pools)
    return {"t": TenantView(spot=fact)}


def others(enabled: bool) -> dict[str, TenantView]:
    """What holds for tenants of whom nobody spoke."""
    fact = SpotSet(by="muster", request="s", enabled=enabled)
    return {EVERYONE: TenantView(spot=fact)}


def decide(jobs: list[Any], tenants: dict[str, TenantView], **policy: Any) -> Plan:
    nodes = [node("n1", spot=True), node("n2", spot=True)]
    return plan(world(nodes, jobs, tenants=tenants), Policy(**policy))


@pytest.mark.parametrize(
    ("tenants", "starts"),
    [
        ({}, True),
        (rights(True), True),
        (rights(False), False),
        (rights(False, default=True), True),
        (rights(True, default=False), False),
        (rights(False, elsewhere=True), False),
    ],
)
def test_a_spot_job_starts_only_where_its_tenant_may_use_spot(
    tenants: dict[str, TenantView], starts: bool
) -> None:
    made = decide([queued("s", kind="spot")], tenants)
    assert ("s" in placements(made)) is starts
    if not starts:
        assert made.verdicts["t", "s"].why is Waiting.SPOT_DISABLED


@pytest.mark.parametrize("kind", ["on_demand", "reserved", "idle"])
def test_other_classes_are_not_concerned(kind: str) -> None:
    made = plan(world([node("n1")], [queued("j", kind=kind)], tenants=rights(False)), Policy())
    assert "j" in placements(made)


@pytest.mark.parametrize(
    ("tenants", "on_spot"),
    [
        ({}, True),
        (rights(True), True),
        (rights(False), False),
        (rights(False, default=True), True),
        (others(False), False),
        (others(False) | rights(True), True),
        (others(True) | rights(False), False),
    ],
)
def test_an_idle_job_takes_spot_nodes_only_where_its_tenant_may_use_spot(
    tenants: dict[str, TenantView], on_spot: bool
) -> None:
    nodes = [node("n1", spot=True), node("n2")]
    jobs = [running("r", ["n2"], kind="on_demand"), queued("i", kind="idle")]
    made = plan(world(nodes, jobs, tenants=tenants), Policy())
    assert ("i" in placements(made)) is on_spot
    shut = closed_to(made, jobs[1])
    assert (shut.get("n1") is Shut.SPOT) is not on_spot


@pytest.mark.parametrize(("enabled", "starts"), [(True, True), (False, False)])
def test_of_whom_nobody_spoke_what_holds_for_everyone_holds(enabled: bool, starts: bool) -> None:
    made = decide([queued("s", kind="spot")], others(enabled))
    assert ("s" in placements(made)) is starts
    made = decide([queued("s", kind="spot")], others(enabled) | rights(not enabled))
    assert ("s" in placements(made)) is not starts


def test_what_runs_goes_on_and_who_waits_hides_nobody() -> None:
    mine = [running("r", ["n1"], kind="spot"), queued("s", kind="spot", entered=-900)]
    made = decide([*mine, queued("other", kind="spot", tenant="u")], rights(False))
    assert not victims(made)
    assert set(placements(made)) == {"other"}


def test_strict_order_is_no_reason_to_wait_behind_it() -> None:
    jobs = [queued("s", kind="spot", entered=-900), queued("other", kind="spot", tenant="u")]
    assert set(placements(decide(jobs, rights(False), order=Order.FIFO))) == {"other"}


def test_a_one_shot_job_is_told_the_true_reason() -> None:
    made = decide([queued("s", kind="spot", auto=False)], rights(False))
    told = decisions(made)["s"]
    assert isinstance(told, f.Declined)
    assert told.reason.code is ReasonCode.SPOT_DISABLED
    assert "tenant t" in told.reason.en
    assert "租户 t" in told.reason.zh
    found = explain_by(made, ("t", "s"))
    assert found.why.code == "SPOT_DISABLED"


def test_explain_says_who_can_help_and_fit_says_that_it_waits() -> None:
    made = decide([queued("s", kind="spot")], rights(False))
    found = explain_by(made, ("t", "s"))
    assert (found.why.code, found.why.numbers) == ("SPOT_DISABLED", {"tenant": "t"})
    assert "muster quota spot" in found.helps[0].en
    assert "管理员" in found.helps[0].zh
    assert fit_of(made, ("t", "s")).outcome == "waits"
