"""The scheduler on a real NATS: batches, the fence, records alone in a batch, the way back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client

from muster.bus.provision import provision
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.log.jetstream import JetStreamLog
from muster.log.memory import Hooks
from muster.runtime.connection import NatsSettings, connect
from muster.runtime.journal import Journal
from muster.scheduler.handlers import Scheduler
from tests.scheduler.pools import Pool, auto_queue
from tests.scheduler.worlds import POOL
from tests.support.eventually import eventually


class NatsPool(Pool):
    """The same pool on a server; every journal and scheduler is a client of its own."""

    def __init__(self, connection: Client) -> None:
        super().__init__()
        self._connection = connection
        self.log = JetStreamLog(connection)  # type: ignore[assignment]

    def journal(self, owner: Owner, hooks: Hooks | None = None) -> Journal:
        """See Pool."""
        return Journal(owner, JetStreamLog(self._connection), self.clock, self.ids)

    async def until(self, name: str, phase: Phase, *schedulers: Scheduler) -> None:
        """Take turns until a job is in a phase."""

        async def there() -> bool:
            for each in schedulers:
                await each.step()
            return (await self.state(name)).phase is phase

        await eventually(there)


@pytest.fixture
async def pool(clean_nats_url: str) -> AsyncIterator[NatsPool]:
    """A pool on a server with empty streams."""
    connection = await connect(NatsSettings(servers=clean_nats_url, name="scheduler-tests"))
    await provision(connection)
    yield NatsPool(connection)
    await connection.close()


async def test_a_life_of_two_jobs_and_a_change_of_leader(pool: NatsPool, tmp_path: Path) -> None:
    await pool.join("n1")
    old = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await pool.until("low", Phase.STARTING, old)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await pool.until("high", Phase.STARTING, old)
    assert (await pool.state("low")).phase is Phase.EVICTING
    new = pool.scheduler()
    await pool.submit("w", auto_queue=auto_queue(hours=1))
    await pool.release("low")
    await pool.launch("high")
    await pool.write("high", f.Succeeded(attempt=1), f.Released(attempt=1))
    await pool.until("w", Phase.STARTING, new, old)
    assert new.cycles[POOL].leadership.mine is not None
    assert old.cycles[POOL].leadership.mine is None
    decided = await pool.decided()
    assert decided is not None
    assert decided.epoch == 2
    for each in (old, new):
        await each.close()


async def test_a_record_and_a_summary_are_batches_of_one(pool: NatsPool) -> None:
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("k", resource={"guarantee": True})
    await pool.until("k", Phase.STARTING, scheduler)
    await pool.launch("k")
    await pool.submit("w", auto_queue=auto_queue(hours=1))
    pool.pass_by(3601)

    async def proven() -> bool:
        await scheduler.step()
        decided, summary = await pool.decided(), await pool.summary()
        return (
            decided is not None
            and decided.scheduled == 0
            and decided.upto >= (await pool.last("w")).seq
            and summary is not None
            and summary.waiting == 1
        )

    await eventually(proven)
    await scheduler.close()


async def test_a_fold_from_a_file_goes_on_where_it_ended(pool: NatsPool, tmp_path: Path) -> None:
    file = tmp_path / "fold.json"
    await pool.join("n1", "n2")
    first = pool.scheduler(file=file)
    await pool.submit("a")
    await pool.until("a", Phase.STARTING, first)
    pool.pass_by(61)

    async def saved() -> bool:
        await first.step()
        return file.exists()

    await pool.submit("b")
    await eventually(saved)
    await first.close()
    again = pool.scheduler(file=file)
    await pool.submit("c", gpus=4)
    await again._open()
    assert again.position > 0
    await pool.write("a", f.StopRequested(by="u", request="r1"), owner=Owner.ADMISSION)
    await pool.write("a", f.Released(attempt=1))
    await pool.until("c", Phase.STARTING, again)
    await again.close()
