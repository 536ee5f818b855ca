"""A rule in shadow is counted and named, and decides nothing."""

from __future__ import annotations

from prometheus_client import REGISTRY

from muster.domain import facts as f
from muster.domain.deadlines import SETTLE_S
from muster.fault_tolerance.rulebook import shipped
from tests.support.judged_world import JudgedWorld

TAIL = "silent data corruption suspected on rank 12\n"


def hits() -> float:
    return REGISTRY.get_sample_value("muster_fault_shadow_hits_total", {"rule": "num.sdc"}) or 0.0


def test_a_failure_that_only_a_rule_in_shadow_knows_is_unknown_and_counted() -> None:
    rule = shipped().rule("num.sdc")
    assert rule is not None
    assert rule.shadow
    world, before = JudgedWorld(), hits()
    world.running(workers=2)
    world.fails(0, tail=TAIL)
    world.after(SETTLE_S + 1)
    (fact,) = world.verdicts()
    assert isinstance(fact, f.Restarted), "unknown is tried again on the user's budget"
    assert fact.diagnosis is not None
    assert (fact.diagnosis.rule, fact.diagnosis.shadow) == (None, ("num.sdc",))
    assert fact.diagnosis.nodes == ()
    assert hits() == before + 1
