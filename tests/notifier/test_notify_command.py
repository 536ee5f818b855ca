"""`muster notify` as a person uses it: the real command, NATS, two notifiers and a bot."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from muster.domain.edges import Owner
from muster.notifier.sandbox import HOOK, Receiver, new_token, serving
from muster.notifier.service import build
from muster.notifier.settings import NotifierSettings
from muster.runtime.host import Host
from muster.runtime.service import Runtime, Service
from muster.runtime.settings import HostSettings
from tests.notifier.test_on_nats import live
from tests.support import leaks
from tests.support.eventually import eventually
from tests.support.leaks import KEY, TOKEN

SECRET = KEY


@dataclass
class Place:
    """Two notifiers over one server, a bot, and a person's shell."""

    url: str
    folder: Path
    bot: Receiver
    webhook: str
    said: list[str] = field(default_factory=list)

    async def notify(self, *words: str, code: int = 0, **typed: str) -> str:
        """Run the command; returns what it printed."""
        environment = {
            **os.environ,
            "MUSTER_NATS_URL": self.url,
            "MUSTER_TENANT": "acme",
            "MUSTER_USER": "alice",
            "OPS_HOOK": self.webhook,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "muster.cli", "notify", *words),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate(typed.get("stdin", "").encode())
        self.said.append(out.decode())
        leaks.heard(self.said[-1])
        assert process.returncode == code, self.said[-1]
        return self.said[-1]

    async def document(self, *words: str) -> Any:
        return json.loads(await self.notify(*words, "--json"))


@pytest.fixture
async def place(clean_nats_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    token = f"{TOKEN}{new_token()}"
    bot = Receiver({token: SECRET}, clock=time.time)
    async with serving(bot) as origin, AsyncExitStack() as stack:
        settings = NotifierSettings(extra_addresses=(origin,), grouped=False)

        def replica(runtime: Runtime) -> Service:
            return build(runtime, settings)

        at = HostSettings(nats_url=SecretStr(clean_nats_url), state_dir=tmp_path)
        for number in range(2):
            host = Host(at, [(Owner.NOTIFIER, replica)])
            await host.start(provisioned=number > 0)
            stack.push_async_callback(host.stop)
        yield Place(clean_nats_url, tmp_path, bot, f"{origin}{HOOK}{token}")


async def test_a_rule_from_its_making_to_its_end(place: Place) -> None:
    (place.folder / "given-secret").write_text(f"{SECRET}\n")
    options = ("--everyone", "--webhook-env", "OPS_HOOK", "--id", "mine", "--language", "en")
    secret = ("--secret-file", str(place.folder / "given-secret"))
    assert "mine is in force" in await place.notify("add", "job_succeeded", *options, *secret)
    assert "delivered" in await place.notify("test", "mine")
    assert "已送达" in await place.notify("test", "mine", "--lang", "zh")
    await live(place.url, "j1")
    await eventually(lambda: len(place.bot.received) == 3)
    (rule,) = await place.document("rules")
    assert (rule["id"], rule["health"]["state"], rule["owner"]) == ("mine", "ok", "alice")
    told = await place.document("deliveries", "--subject", "j1")
    assert [each["state"] for each in told["deliveries"]] == ["delivered"]
    place.bot.refuse_next.append((19007, "Bot Not Enabled"))
    refused = await place.notify("test", "mine", code=1)
    assert "19007 Bot Not Enabled" in refused
    assert "to do: " in refused
    assert "delivery failing 19007" in await place.notify("rules")
    assert "投递异常 19007" in await place.notify("show", "mine", "--lang", "zh")
    assert "机器人已停用" in await place.notify("health", "--lang", "zh")
    silence = await place.document("silence", "a drill", "--for", "2h", "--owner", "alice")
    assert "a drill" in await place.notify("silences")
    assert "is over" in await place.notify("unsilence", silence["silence"])
    assert "paused" in await place.notify("pause", "mine")
    assert "from now on" in await place.notify("resume", "mine")
    assert "0 dead letter(s)" in await place.notify("replay", "--rule", "mine")
    assert "1 address(es)" in await place.notify("rotate")
    assert "is removed" in await place.notify("remove", "mine")
    assert "no rules" in await place.notify("rules")
    token = place.webhook.rpartition("/")[2]
    assert not any(token in each for each in place.said)


async def test_what_is_wrong_is_told_with_field_and_remedy(place: Place) -> None:
    secret = ("--webhook-env", "OPS_HOOK")
    refused = await place.notify("add", "job_lost", "--everyone", *secret, code=1)
    assert "$.trigger" in refused
    assert "exactly one trigger" in refused
    refused = await place.notify("add", "job_lost", *secret, "--lang", "zh", code=1)
    assert "同一条通知规则只能选择一个触发条件" in refused
    typed = "https://evil.example/open-apis/bot/v2/hook/marker-secret\n"
    refused = await place.notify("add", "job_failed", "--webhook-file", "-", code=1, stdin=typed)
    assert "$.webhook" in refused
    assert "marker-secret" not in refused
    assert "NO_SUCH" in await place.notify("add", "job_failed", "--webhook-env", "NO_SUCH", code=1)
    assert "--webhook-env" in await place.notify("add", "job_failed", code=1)
    several = ("--everyone", "--class", "spot", *secret)
    assert "one scope" in await place.notify("add", "job_failed", *several, code=2)
    both = (*secret, "--webhook-file", "x")
    assert "not both" in await place.notify("add", "job_failed", *both, code=2)
    assert "gone" in await place.notify("show", "gone", code=1)
    assert "gone" in await place.notify("test", "gone", code=1)
    assert "no silence gone" in await place.notify("unsilence", "gone", code=1)
    assert "name a rule" in await place.notify("replay", code=1)
    assert "a silence needs" in await place.notify("silence", "why", "--for", "1h", code=1)


async def test_where_no_notifier_runs_it_says_so(clean_nats_url: str, tmp_path: Path) -> None:
    nobody = Place(clean_nats_url, tmp_path, Receiver({}, clock=time.time), "")
    assert "muster doctor" in await nobody.notify("rules", code=5)
