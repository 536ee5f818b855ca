"""Shares, stock and block lists may name what a pool does not have; that is said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from muster.cli import texts
from muster.cli.commands import block, quota, stock
from muster.cli.errors import Refusal
from muster.cli.session import Session
from muster.contracts import requests as r
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.rules import violation
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import SpotSet, TenantView
from tests.scheduler.worlds import node

NODES = [
    node("n1", zone="z1"),
    node("n2", zone="z1", gpu_model="H100"),
    node("n3", zone="z9", gpu_model="V100", condition=NodeCondition.GONE),
]


class Asked:
    """A Muster that answers what it is told to."""

    def __init__(self) -> None:
        self.nodes_of: list[NodeState] = NODES
        self.accepts = True
        self.rights: dict[str, TenantView] = {}
        self.bodies: list[r.Request] = []

    async def nodes(self, pool: str | None = None) -> list[NodeState]:
        return [each for each in self.nodes_of if pool in (None, each.pool)]

    async def stock(self, pool: str | None = None) -> list[StockChanged]:
        return []

    async def jobs(self, tenant: str | None = None) -> list[JobState]:
        return []

    async def tenants(self, tenant: str | None = None) -> dict[str, TenantView]:
        return {name: view for name, view in self.rights.items() if tenant in (None, name)}

    async def request(self, tenant: str, body: r.Request) -> r.Answer:
        self.bodies.append(body)
        return r.Answer(
            request="r",
            tenant=tenant,
            verb=body.verb,
            accepted=self.accepts,
            violations=() if self.accepts else (violation("E_NAME_INVALID", "$.pool"),),
            at=datetime(2030, 1, 1, tzinfo=UTC),
        )


@pytest.fixture
def muster(monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked()

    @asynccontextmanager
    async def reach(session: Session) -> AsyncIterator[Asked]:
        yield made

    for module in (block, quota, stock):
        monkeypatch.setattr(module, "reach", reach)
    return made


def said(app: Any, *words: str, as_json: bool = False) -> Any:
    found = CliRunner().invoke(app, words, obj=Session(as_json=as_json))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_a_share_of_a_model_that_the_pool_does_not_have(muster: Asked) -> None:
    shown = said(quota.app, "set", "acme", "--gpu-model", "A10O", "--guaranteed", "4")
    assert "shares of tenant acme noted" in shown.stdout
    assert shown.stderr == "warning: pool default has no GPU model A10O; it has A100, H100\n"
    known = said(quota.app, "set", "acme", "--gpu-model", "A100", "--guaranteed", "4")
    assert known.stderr == ""


def test_programs_get_the_warnings_in_the_answer(muster: Asked) -> None:
    shown = said(quota.app, "set", "acme", "--gpu-model", "V100", as_json=True)
    found = json.loads(shown.stdout)
    assert found["accepted"] is True
    assert found["warnings"] == ["warning: pool default has no GPU model V100; it has A100, H100"]
    cleared = said(quota.app, "clear", "acme", as_json=True)
    assert json.loads(cleared.stdout)["warnings"] == []


def test_stock_of_a_zone_that_the_pool_does_not_have(muster: Asked) -> None:
    shown = said(stock.app, "set", "--zone", "z9", "--gpu-model", "B200", "--gpus", "8")
    assert shown.stderr.splitlines() == [
        "warning: pool default has no GPU model B200; it has A100, H100",
        "warning: pool default has no zone z9; it has z1",
    ]


def test_a_block_list_says_whose_it_is_and_of_which_nodes(muster: Asked) -> None:
    shown = said(block.app, "add", "acme", "n1", "n4", "--only-user", "zoe")
    assert shown.stdout == "new work of user zoe of tenant acme stays off n1, n4\n"
    assert shown.stderr == "warning: pool default has no node n4; it has n1, n2\n"
    lifted = said(block.app, "remove", "acme", "n4", "--only-user", "zoe")
    assert lifted.stdout == "user zoe of tenant acme may use n4 again\n"
    assert lifted.stderr == ""
    assert said(block.app, "add", "acme", "n1").stdout == "new work of tenant acme stays off n1\n"


def test_long_lists_are_cut_and_an_empty_pool_has_none_yet(muster: Asked) -> None:
    muster.nodes_of = [node(f"m{i:02}") for i in range(12)]
    assert "m08, m09 and 2 more" in said(block.app, "add", "acme", "x").stderr
    muster.nodes_of = []
    texts.use("zh")
    try:
        shown = said(block.app, "add", "acme", "x", "--only-user", "zoe")
    finally:
        texts.use("en")
    assert shown.stderr == "警告：资源池 default 没有节点 x；现有：暂无\n"
    assert shown.stdout == "租户 acme 中用户 zoe 的新任务不再使用 x\n"


def test_what_is_refused_is_one_change(muster: Asked) -> None:
    muster.accepts = False
    with pytest.raises(Refusal) as refused:
        said(quota.app, "set", "acme", "--gpu-model", "A100")
    assert "the change to the shares of tenant acme was refused" in str(refused.value)


# --- who may use spot ----------------------------------------------------------------------------


def off(tenant: str, **pools: bool) -> dict[str, TenantView]:
    return {tenant: TenantView(spot=SpotSet(by="op", request="s", enabled=False, pools=pools))}


def test_a_right_to_spot_is_given_and_taken(muster: Asked) -> None:
    shown = said(quota.app, "spot", "acme", "--off")
    assert shown.stdout.startswith("tenant acme may run no spot jobs (every pool): what runs")
    shown = said(quota.app, "spot", "acme", "--on", "--pool", "west")
    assert shown.stdout == "tenant acme may run spot jobs (west)\n"
    assert [body for body in muster.bodies if isinstance(body, r.SetSpot)] == [
        r.SetSpot(user=Session().user, tenant="acme", enabled=False),
        r.SetSpot(user=Session().user, tenant="acme", enabled=True, pool="west"),
    ]
    muster.accepts = False
    with pytest.raises(Refusal):
        said(quota.app, "spot", "acme", "--off")


def test_a_right_needs_the_name_of_its_tenant(muster: Asked) -> None:
    shown = said(quota.app, "spot", "--off")
    assert shown.exit_code == 2
    assert "name the tenant" in shown.stderr


def test_rights_to_spot_are_listed(muster: Asked) -> None:
    assert "MUSTER_ADMISSION_SPOT" in said(quota.app, "spot").stdout
    muster.rights = off("acme", west=True)
    assert "not enabled" in said(quota.app, "spot", "acme").stdout
    found = json.loads(said(quota.app, "spot", "--pool", "west", as_json=True).stdout)
    assert [(one["pool"], one["enabled"]) for one in found] == [(None, False), ("west", True)]


def test_the_page_of_stock_says_for_whom_it_is_not(
    muster: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    muster.nodes_of = [node("n1", spot=True)]
    monkeypatch.setenv("MUSTER_TENANT", "acme")
    assert said(stock.app).stderr == ""
    muster.rights = off("acme")
    shown = said(stock.app)
    assert "A100" in shown.stdout
    assert "not enabled for tenant acme in pool default" in shown.stderr
    muster.rights = off("other")
    assert said(stock.app).stderr == ""
