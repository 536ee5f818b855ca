"""A notifier in a process of its own, on a real server, that tells a bot over HTTP.

Killed: SIGKILL, every second time while the bot has a message and has not answered yet - the worst
moment, since nobody can know then - and otherwise between two messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from benchmarks.gangs_stack import Stack
from benchmarks.log_server import opened
from benchmarks.notices_bot import LimitedBot, Seen, read
from benchmarks.notices_figures import figures
from benchmarks.notices_jobs import EVERY, LASTING, TENANT, Told, life_of, submission
from muster.bus.provision import provision
from muster.contracts.events import job_event
from muster.contracts.subjects import job_key
from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.state import JobState
from muster.log import Basis
from muster.log.jetstream import JetStreamLog
from muster.notifier.core.notice import Trigger
from muster.notifier.core.rules import tellings
from muster.notifier.sandbox import HOOK, new_token, serving
from muster.runtime.nats_server import EmbeddedServer
from muster.runtime.ports import free_port

LEASE_S = 20
PATIENCE_S = 1800.0
AT_ONCE = 40
BETWEEN_S = 0.4
_ADDRESSES = "addresses:\n  ops: {webhook: {env: OPS_HOOK}, secret: {file: %s}}\nrules:\n"
_RULE = "  - {id: %s, tenant: %s, scope: tenant, trigger: %s, language: en, address: ops}\n"


@dataclass(slots=True)
class Notifier:
    """The process, and when it is killed. every: requests from one kill to the next."""

    stack: Stack
    folder: Path
    env: dict[str, str]
    every: int = 0
    kills: int = 0
    most: int = 0
    requests: int = 0

    def starts(self) -> None:
        """Start it."""
        self.stack.start("notifier", "muster.notifier.service", **self.env)

    def kill(self) -> None:
        """SIGKILL it."""
        self.stack.processes["notifier"].kill()

    def sends(self) -> None:
        """Note a request, and see whether it is time for a kill."""
        self.requests += 1
        if self.kills >= self.most or self.requests < self.every * (self.kills + 1):
            return
        self.kills += 1
        if self.kills % 2:
            self.kill()
        else:
            asyncio.get_running_loop().call_later(BETWEEN_S, self.kill)

    async def watch(self) -> None:
        """Start it again whenever it was killed."""
        while True:
            if self.stack.processes["notifier"].poll() is not None:
                self.starts()
            await asyncio.sleep(0.1)


async def real(
    case: str, folder: Path, notices: int, *, grouped: bool, kills: int = 0
) -> dict[str, object]:
    """Let so many notices happen as fast as they can be written, and wait until all are told."""
    triggers = EVERY if grouped else LASTING
    jobs = round(notices / len(triggers))
    token = new_token()
    bot = LimitedBot({token: "demo"}, time.time)
    async with serving(bot) as origin, _stack(folder) as (stack, connection):
        env = _environment(folder, triggers, origin, token, grouped=grouped)
        every = max(1, jobs * len(triggers) // (kills + 1))
        notifier = Notifier(stack, folder, env, every, most=kills)
        bot.arriving = notifier.sends
        await provision(connection)
        notifier.starts()
        await _in_force(folder / "notifier" / "notifier.db")
        watching = asyncio.create_task(notifier.watch())
        began = time.monotonic()
        told = await _live(JetStreamLog(connection), jobs, life_of(triggers))
        seen = await _all_told(bot, jobs * len(triggers))
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        return figures(told, triggers, seen).line(
            case,
            rate_refusals=bot.refused,
            digests=seen.digests,
            kills=notifier.kills,
            real_s=round(time.monotonic() - began, 1),
        )


async def _in_force(path: Path) -> None:
    """Wait until the rules hold: they tell nothing of what was before."""
    async with asyncio.timeout(60):
        while not (path.exists() and _rules(path)):  # noqa: ASYNC240 - a file on this machine
            await asyncio.sleep(0.1)


def _rules(path: Path) -> int:
    with contextlib.suppress(sqlite3.OperationalError), closing(sqlite3.connect(path)) as reading:
        return int(reading.execute("SELECT count(*) FROM notifier_rules").fetchone()[0])
    return 0


async def _all_told(bot: LimitedBot, wanted: int) -> Seen:
    """Wait until everything was told, and then for what should not come any more."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if sum(map(len, read(bot.received).words.values())) >= wanted:
            break
        await asyncio.sleep(1)
    await asyncio.sleep(LEASE_S + 5)
    return read(bot.received)


async def _live(log: JetStreamLog, jobs: int, facts: tuple[f.Fact, ...]) -> list[Told]:
    """Let many jobs live at once, each one event after another."""
    room = asyncio.Semaphore(AT_ONCE)

    async def lives(job: str) -> list[Told]:
        async with room:
            return await _lives(log, job, facts)

    found = await asyncio.gather(*(lives(f"job-{number:05d}") for number in range(jobs)))
    return [each for told in found for each in told]


async def _lives(log: JetStreamLog, job: str, facts: tuple[f.Fact, ...]) -> list[Told]:
    """Write one job's life into the log, as the services would."""
    told: list[Told] = []
    key, seq = job_key(TENANT, job), 0
    state: JobState | None = None
    for number, fact in enumerate((submission(job), *facts)):
        now = await log.now()
        state = evolve(state, fact, now)
        event = job_event(state, fact, event_id=f"{job}-{number}", source="muster/bench", at=now)
        seq = (await log.append(event, Basis(key, seq))).seq
        triggers = tuple(trigger for trigger, _ in tellings(fact.event, state))
        told.append(Told(event, job, triggers))
    return told


def _environment(
    folder: Path, triggers: tuple[Trigger, ...], origin: str, token: str, *, grouped: bool
) -> dict[str, str]:
    (folder / "sign").write_text("demo\n", encoding="utf-8")
    text = _ADDRESSES % (folder / "sign")
    for trigger in triggers:
        text += _RULE % (trigger.value.replace("_", "-"), TENANT, trigger.value)
    (folder / "rules.yaml").write_text(text, encoding="utf-8")
    return {
        "MUSTER_NOTIFIER_RULES_FILE": str(folder / "rules.yaml"),
        "MUSTER_NOTIFIER_EXTRA_ADDRESSES": origin,
        "MUSTER_NOTIFIER_GROUPED": str(grouped).lower(),
        "MUSTER_NOTIFIER_CLAIM_LEASE_S": str(LEASE_S),
        "OPS_HOOK": f"{origin}{HOOK}{token}",
    }


@asynccontextmanager
async def _stack(folder: Path) -> AsyncIterator[tuple[Stack, Client]]:
    server = EmbeddedServer(folder / "nats", port=free_port())
    await server.start()
    stack = Stack(server.url, folder)
    try:
        connection = await opened(server.url, "bench")
        try:
            yield stack, connection
        finally:
            stack.kill()
            await connection.close()
    finally:
        await server.stop()
