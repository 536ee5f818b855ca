"""Shares and block lists: what operators may set, and what is refused because of it."""

from __future__ import annotations

from typing import Any

from muster.contracts import subjects
from muster.domain.edges import Owner
from muster.domain.nodes import NodeFact, NodeJoined, NodeLeft, NodeShape
from muster.domain.tenants import BlocklistSet, QuotaSet, Share, TenantFact
from muster.log import Recorded
from muster.runtime.journal import DecideNode
from tests.admission.test_handlers import Bench

ONE_JOB = {"type": "on_demand", "replicas": 1, "gpus_per_replica": 8}


def _says(fact: NodeFact) -> DecideNode:
    return lambda state, now: fact


class Tenants(Bench):
    """A bench with nodes, whose admission reads what others write."""

    async def join(self, *names: str, model: str = "A100", gpus: int = 8) -> None:
        for name in names:
            shape = NodeShape(gpus=gpus, gpu_model=model, cpus=64, memory_mib=512_000)
            fact = NodeJoined(pool="default", node=name, cluster="c", shape=shape)
            await self.journal(Owner.EXECUTOR).advance_node("default", name, _says(fact))
        await self.handlers._known.step()

    async def quota(self, *shares: dict[str, Any], request: str = "q1", **more: Any) -> Any:
        data = {"user": "op", "tenant": "acme", "shares": list(shares), **more}
        return await self.tell("set_quota", data, request)

    async def block(self, request: str = "b1", **more: Any) -> Any:
        return await self.tell("set_blocklist", {"user": "op", "tenant": "acme", **more}, request)

    async def fact(self, kind: type[TenantFact]) -> TenantFact:
        found = await self.log.last(subjects.tenant_key("acme", kind.event))
        assert isinstance(found, Recorded)
        detail: TenantFact = found.event.data.detail
        return detail

    async def try_to_submit(self, request: str, user: str = "ann", **spec: Any) -> list[str]:
        spec = {"name": "train", "image": "i", "command": ["x"], "resource": ONE_JOB} | spec
        answer = await self.tell("submit", {"user": user, "spec": spec}, request)
        return [f"{each.code} {each.path}: {each.en}" for each in answer.violations]


A100 = {"gpu_model": "A100", "guaranteed": 4, "ceiling": 12}


async def test_shares_of_other_models_stay_unless_the_request_is_the_whole() -> None:
    bench = Tenants()
    assert (await bench.quota(A100)).accepted
    assert (await bench.quota({"gpu_model": "H100", "guaranteed": 2}, request="q2")).accepted
    fact = await bench.fact(QuotaSet)
    assert isinstance(fact, QuotaSet)
    assert fact.shares == (
        Share(pool="default", gpu_model="A100", guaranteed=4, ceiling=12),
        Share(pool="default", gpu_model="H100", guaranteed=2),
    )
    assert (fact.by, fact.request, fact.requests) == ("op", "q2", ("q1",))
    await bench.quota(A100 | {"ceiling": None}, request="q3", whole=True)
    fact = await bench.fact(QuotaSet)
    assert isinstance(fact, QuotaSet)
    assert fact.shares == (Share(pool="default", gpu_model="A100", guaranteed=4),)


async def test_a_request_told_again_changes_nothing_even_after_another_one() -> None:
    bench = Tenants()
    await bench.quota(A100)
    await bench.quota(A100 | {"ceiling": 20}, request="q2")
    assert (await bench.quota(A100)).accepted
    fact = await bench.fact(QuotaSet)
    assert isinstance(fact, QuotaSet)
    assert fact.shares[0].ceiling == 20


async def test_every_mistake_of_a_quota_is_named() -> None:
    answer = await Tenants().quota(
        A100 | {"guaranteed": 13}, A100, {"gpu_model": "H100", "weight": 3}
    )
    assert [(v.code, v.path) for v in answer.violations] == [
        ("E_UNKNOWN_FIELD", "$.data.shares[2].weight")
    ]
    answer = await Tenants().quota(A100 | {"guaranteed": 13}, A100)
    assert [(v.code, v.path) for v in answer.violations] == [
        ("E_SHARE_RANGE", "$.data.shares[0].guaranteed"),
        ("E_SHARE_DUP", "$.data.shares[1].gpu_model"),
    ]
    assert "保障份额 13 超过上限 12" in answer.violations[0].zh


async def test_every_mistake_of_a_block_list_is_named() -> None:
    answer = await Tenants().block(add=["n1", "n1"], remove=["n1"])
    assert [(v.code, v.path) for v in answer.violations] == [
        ("E_BLOCK_DUP", "$.data.add[1]"),
        ("E_BLOCK_DUP", "$.data.remove[0]"),
    ]
    assert [v.code for v in (await Tenants().block()).violations] == ["E_BLOCK_NOTHING"]


async def test_lists_of_a_tenant_and_of_its_users_are_kept_apart() -> None:
    bench = Tenants()
    await bench.block("b1", add=["n2", "n1"])
    await bench.block("b2", only_user="bob", add=["n3"])
    await bench.block("b3", remove=["n1"])
    fact = await bench.fact(BlocklistSet)
    assert isinstance(fact, BlocklistSet)
    assert fact.nodes == {"default": ("n2",)}
    assert fact.users == {"bob": {"default": ("n3",)}}
    await bench.block("b4", only_user="bob", remove=["n3"])
    fact = await bench.fact(BlocklistSet)
    assert isinstance(fact, BlocklistSet)
    assert fact.users == {}


async def test_more_than_the_ceiling_can_never_be() -> None:
    bench = Tenants()
    await bench.join("n1", "n2")
    await bench.quota(A100)
    big = ONE_JOB | {"replicas": 2}
    said = "E_QUOTA $.spec.resource: quota check failed: requested 16, available 12"
    assert await bench.try_to_submit("s1", resource=big) == [said]
    assert await bench.try_to_submit("s2", resource=big | {"gpu_model": "A100"}) == [said]
    assert await bench.try_to_submit("s3") == []
    assert await bench.try_to_submit("s4", resource=big | {"type": "idle"}) == []
    await bench.quota(A100 | {"ceiling": 16}, request="q2")
    assert await bench.try_to_submit("s5", resource=big) == []


async def test_the_ceilings_of_several_models_count_together_for_whole_workers() -> None:
    bench = Tenants()
    await bench.quota(A100 | {"ceiling": 12}, A100 | {"gpu_model": "H100", "ceiling": 12})
    wanted = ONE_JOB | {"gpu_model": "A100|H100"}
    said = "E_QUOTA $.spec.resource: quota check failed: requested {}, available {}"
    assert await bench.try_to_submit("s1", resource=wanted | {"replicas": 2}) == []
    too_many = await bench.try_to_submit("s2", resource=wanted | {"replicas": 3})
    assert too_many == [said.format(24, 16)]
    too_many = await bench.try_to_submit("s3", resource=wanted | {"replicas": 4})
    assert too_many == [said.format(32, 24)]


async def test_another_model_that_has_no_ceiling_is_a_way() -> None:
    bench = Tenants()
    await bench.quota(A100)
    big = ONE_JOB | {"replicas": 2}
    assert await bench.try_to_submit("s1", resource=big) == []  # no node is known yet
    await bench.join("n1", model="H100")
    await bench.join("n2")
    assert await bench.try_to_submit("s2", resource=big) == []


async def test_the_lists_of_user_and_tenant_together_and_nothing_is_remembered() -> None:
    bench = Tenants()
    await bench.join("n1", "n2")
    await bench.block("b1", only_user="u1", add=["n1"])
    await bench.block("b2", add=["n2"])
    assert await bench.try_to_submit("s1", "u1") == [
        "E_NODE_BLACKLIST $.spec.resource: quota check failed due to node blacklist: n1,n2"
    ]
    assert await bench.try_to_submit("s2", "u2") == []
    await bench.block("b3", only_user="u1", remove=["n1"])
    assert await bench.try_to_submit("s3", "u1") == []


async def test_a_choice_of_blocked_nodes_alone_leaves_none() -> None:
    bench = Tenants()
    await bench.join("n1", "n2", "n3")
    await bench.block(add=["n2", "n3"])
    chosen = {"type": "NodeIn", "nodes": ["n3"]}
    assert await bench.try_to_submit("s1", node_policy=chosen) == [
        "E_NODE_BLACKLIST $.spec.node_policy: quota check failed due to node blacklist: n3"
    ]


async def test_what_no_list_is_to_blame_for_is_not_refused_for_it() -> None:
    bench = Tenants()
    await bench.block(add=["n1"])
    assert await bench.try_to_submit("s0") == []  # no node is known yet
    await bench.join("n1", gpus=4)
    assert await bench.try_to_submit("s1") == []  # too large for the pool, list or not
    left = await bench.journal(Owner.EXECUTOR).advance_node(
        "default", "n1", lambda s, n: NodeLeft()
    )
    assert left is not None
    await bench.join("n2")
    assert await bench.try_to_submit("s2") == []


async def test_a_thousand_names_are_cut_with_their_count() -> None:
    bench = Tenants()
    names = [f"n{number:04d}" for number in range(1000)]
    await bench.join(*names)
    await bench.block(add=names)
    (said,) = await bench.try_to_submit("s1")
    assert said.endswith(",n0018,n0019,… (+980)")
