"""A database of the first version: what was pending goes out, and what ended says how."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from muster.notifier.service import MIGRATIONS
from muster.runtime.database import InstantColumn, open_engine
from tests.notifier.lives import START
from tests.notifier.stage import Stage, look

FACTS = {"name": "llama-sft", "owner": "alice", "entry": 1, "attempt": 0, "gpus": 16, "workers": 2}


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    engine = open_engine(database_url)
    with engine.begin() as connection:
        _first_version(connection)
        _fill(connection)
    engine.dispose()
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


def _first_version(connection: sa.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["version_table"] = "alembic_version_notifier"
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")


def _fill(connection: sa.Connection) -> None:
    rule: dict[str, Any] = {
        "id": "r-job-queued",
        "tenant": "acme",
        "scope": json.dumps({"kind": "tenant", "user": "", "job": "", "labels": {}}),
        "trigger_name": "job_queued",
        "language": "zh",
        "channel": "feishu",
        "address": "ops",
        "enabled": True,
        "since": START - timedelta(hours=1),
    }
    connection.execute(_into("notifier_rules", rule))
    for job, state, code in (
        ("waits", "pending", ""),
        ("old", "failed", "stale"),
        ("gone", "failed", "withdrawn"),
        ("bad", "failed", "19001"),
        ("told", "delivered", "0"),
    ):
        connection.execute(_into("notifier_deliveries", _row(rule, job, state, code)))
    lane = {"channel": "feishu", "address": "ops", "turn": 7, "leased_until": START}
    connection.execute(_into("notifier_lanes", lane))


def _row(rule: dict[str, Any], job: str, state: str, code: str) -> dict[str, Any]:
    same = {
        name: rule[name] for name in ("trigger_name", "tenant", "language", "channel", "address")
    }
    pending = state == "pending"
    return {
        **same,
        "rule": rule["id"],
        "job": job,
        "transition": "queued:1",
        "notice": f"n-{job}",
        "version": 2,
        "facts": json.dumps(FACTS) if pending else None,
        "state": state,
        "attempts": 0 if pending else 1,
        "in_doubt": False,
        "set_aside": False,
        "code": code,
        "text": "",
        "happened_at": START,
        "expires_at": START + timedelta(minutes=30),
        "settled_at": None if pending else START,
    }


def _into(table: str, values: dict[str, Any]) -> sa.Insert:
    kinds: dict[type, Any] = {datetime: InstantColumn(), bool: sa.Boolean()}
    columns = [sa.column(name, kinds.get(type(value))) for name, value in values.items()]
    return sa.insert(sa.table(table, *columns)).values(values)


async def test_what_an_older_version_left_is_told_or_says_how_it_ended(stage: Stage) -> None:
    service = await stage.starts()
    stage.clock.moves(60)
    await look(service)
    assert stage.titles == ["排队中"]
    states = sorted(state for _, state, _ in await stage.rows())
    assert states == ["dead", "delivered", "delivered", "stale", "withdrawn"]
