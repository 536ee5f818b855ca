"""What people see of sick nodes, incidents and failures that no rule knows, in both languages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from muster.bus import NobodyAnswers
from muster.cli import texts
from muster.cli.commands import fingerprints, incident, incidents, node
from muster.cli.errors import CliError, Refusal
from muster.cli.session import Session
from muster.contracts import requests as r
from muster.contracts.judgements import (
    FingerprintCluster,
    FingerprintClusters,
    NodeRating,
    NodeRatings,
)
from muster.domain.incidents import Incident, IncidentKind, incident_id
from muster.domain.rules import violation
from tests.support.lives import START

SICK = NodeRating(
    pool="default",
    node="n7",
    condition="ready",
    suspected=True,
    excluded_until=START + timedelta(hours=24),
    exclusions=2,
    jobs=4,
    users=3,
    rate=0.4,
    low=0.2,
    high=0.6,
    rules=(("xid.79", 3), ("unknown", 1)),
    proposed=True,
    why="failures of 4 jobs",
    why_zh="4 个任务故障",
    held="too many",
    held_zh="太多",
)
FINE = NodeRating(pool="default", node="n1", condition="ready", rate=0.0, low=0.0, high=0.1)
STALE = Incident(
    id=incident_id(IncidentKind.STORAGE, "nfs-1"),
    kind=IncidentKind.STORAGE,
    name="nfs-1",
    opened_at=START,
    last_at=START,
    jobs=30,
    users=4,
    en="storage nfs-1: 30 jobs",
    zh="存储 nfs-1：30 个任务",
)
OVER = STALE.model_copy(update={"id": "switch-x", "closed_at": START, "closed_by": "ann"})
CLUSTER = FingerprintCluster(
    fingerprint="0a1b2c3d4e5f",
    failures=9,
    jobs=7,
    users=2,
    first_at=START,
    last_at=START,
    nodes=("n1", "n2"),
    excerpt="step 1\n\x1b[31mgadget refused to frobnicate\x1b[0m\n",
)


class Asked:
    """A Muster that answers these, or nothing."""

    def __init__(self, *, silent: bool = False, refused: bool = False) -> None:
        self.silent, self.refused = silent, refused

    async def node_ratings(self, pool: str | None) -> NodeRatings:
        if self.silent:
            raise NobodyAnswers("judgements.nodes", 10)
        return NodeRatings(at=START, fleet=0.02, rated=2, nodes=(SICK, FINE))

    async def fingerprints(self, limit: int) -> FingerprintClusters:
        return FingerprintClusters(clusters=(CLUSTER,))

    async def incidents(self) -> list[Incident]:
        return [STALE, OVER]

    async def request(self, tenant: str, body: r.Request) -> r.Answer:
        wrong = violation("E_INCIDENT_UNKNOWN", "$.incident", incident="x")
        return r.Answer(
            request="1",
            tenant=tenant,
            verb=body.verb,
            accepted=not self.refused,
            violations=(wrong,) if self.refused else (),
            at=START,
        )


def reached(monkeypatch: pytest.MonkeyPatch, command: ModuleType, asked: Asked) -> None:
    @asynccontextmanager
    async def reach(session: Session) -> AsyncIterator[Asked]:
        yield asked

    monkeypatch.setattr(command, "reach", reach)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("n7", "failures of 4 jobs", "too many", "muster node cordon n7", "kept out until")),
        ("zh", ("n7", "4 个任务故障", "太多", "muster node cordon n7", "排除至")),
    ],
)
async def test_what_is_held_against_a_node(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    language: Any,
    words: tuple[str, ...],
) -> None:
    texts.use(language)
    reached(monkeypatch, node, Asked())
    await node._suspects(Session(), None)
    said = capsys.readouterr().out
    assert all(word in said for word in words)
    assert "n1" not in said


async def test_nodes_against_the_fleet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reached(monkeypatch, node, Asked())
    await node._lemons(Session(), None)
    said = capsys.readouterr().out
    assert all(word in said for word in ("40%", "20% - 60%", "xid.79 3", "2.0%"))
    await node._lemons(Session(as_json=True), None)
    assert [row["node"] for row in json.loads(capsys.readouterr().out)["nodes"]] == ["n7", "n1"]


async def test_silence_of_fault_tolerance_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    reached(monkeypatch, node, Asked(silent=True))
    with pytest.raises(CliError, match="did not answer"):
        await node._lemons(Session(), None)


async def test_incidents_that_go_on_and_all_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reached(monkeypatch, incidents, Asked())
    await incidents._incidents(Session(), False)
    said = capsys.readouterr().out
    assert STALE.id in said
    assert "storage nfs-1: 30 jobs" in said
    assert OVER.id not in said
    await incidents._incidents(Session(as_json=True), True)
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == [STALE.id, OVER.id]


async def test_a_persons_word_on_an_incident(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = r.CloseIncident(user="ann", incident=STALE.id)
    reached(monkeypatch, incident, Asked())
    await incident._close(Session(), body)
    assert STALE.id in capsys.readouterr().out
    reached(monkeypatch, incident, Asked(refused=True))
    with pytest.raises(Refusal):
        await incident._close(Session(), body)


async def test_unknown_failures_and_the_beginning_of_a_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reached(monkeypatch, fingerprints, Asked())
    await fingerprints._list(Session(), 20)
    said = capsys.readouterr().out
    assert "0a1b2c3d4e5f" in said
    assert "refused to frobnicate" in said
    assert "\x1b" not in said
    await fingerprints._rule(Session(), "0a1b")
    assert 'pattern: "gadget' in capsys.readouterr().out
    with pytest.raises(CliError):
        await fingerprints._rule(Session(), "ff")
