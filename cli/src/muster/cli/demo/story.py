"""The story, step by step: what is asked for, and what has to happen before the next step.

Every wait has a bound and a name, so that a demo that fails says where it got stuck.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path

from muster.cli.demo import script
from muster.cli.demo.board import Board
from muster.cli.demo.mailbox import Expected
from muster.cli.demo.stage import Stage
from muster.cli.demo.watch import Watch
from muster.cli.errors import CliError, Refusal
from muster.cli.reach import Reach
from muster.contracts.requests import ReclaimNode, Request, Submit, job_id
from muster.domain.phases import PARKED, TERMINAL, Phase

PATIENCE_S = 45.0
LETTERS_S = 10.0
LOOK_S = 0.05
OVER = TERMINAL | PARKED


class Story:
    """tell happens in order; `training` and `urgent` are the ids of its two jobs."""

    def __init__(self, stage: Stage, muster: Reach, board: Board) -> None:
        self._stage, self._muster, self._board = stage, muster, board
        self._requests = {name: secrets.token_hex(12) for name in script.EXPECTED}
        self.training, self.urgent = (
            job_id(script.TENANT, self._requests[name]) for name in (script.TRAINING, script.URGENT)
        )
        self.watch = Watch(self.training)

    @property
    def expected(self) -> Expected:
        """Which notices must arrive."""
        return {
            self.training: script.EXPECTED[script.TRAINING],
            self.urgent: script.EXPECTED[script.URGENT],
        }

    async def tell(self) -> None:
        """Let it happen. Raises CliError with the step at which it got stuck."""
        program: Path = self._stage.place.training
        await self._submit(script.TRAINING, script.training(program))
        await self._until("running", lambda: self._runs(1) and self.watch.step > 0)
        await self._submit(script.URGENT, script.urgent(program))
        await self._until("step", lambda: self.watch.step >= script.RECLAIM_AT)
        await self._reclaim()
        await self._until("evicted", lambda: self._entry(2))
        await self._until("resumed", lambda: self._runs(2))
        await self._until("over", lambda: self._is_over(self.training))
        await self._until("over", lambda: self._is_over(self.urgent))
        await self._letters()

    async def _submit(self, name: str, spec: dict[str, object]) -> None:
        self._board.say(f"submit.{name}")
        await self._ask(Submit(user=script.USER, spec=spec), self._requests[name], name)

    async def _reclaim(self) -> None:
        self._board.say("reclaim", node=script.SPOT_NODE, step=self.watch.step)
        body = ReclaimNode(user="cloud", node=script.SPOT_NODE, notice_s=script.NOTICE_S)
        await self._ask(body, secrets.token_hex(12), script.SPOT_NODE)

    async def _ask(self, body: Request, request: str, what: str) -> None:
        answer = await self._muster.request(script.TENANT, body, request)
        if not answer.accepted:
            raise Refusal("request", answer.violations, what=what)

    def _runs(self, attempt: int) -> bool:
        state = self.watch.state
        return state is not None and state.attempt == attempt and state.phase is Phase.RUNNING

    def _entry(self, entry: int) -> bool:
        state = self.watch.state
        return state is not None and state.queue_entry >= entry

    def _is_over(self, job: str) -> bool:
        state = self.watch.jobs.get(job)
        return state is not None and state.phase in OVER and not state.held

    async def _until(self, what: str, done: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not done():
                    self._stop_if_over(what)
                    await asyncio.sleep(LOOK_S)
        except TimeoutError as error:
            step = self._board.words(f"until.{what}")
            raise CliError("demo_stuck", what=step, log=self._stage.folder.log) from error

    def _stop_if_over(self, what: str) -> None:
        """A training that has ended never gets where the story wants it."""
        state = self.watch.state
        if what != "over" and state is not None and state.phase in OVER:
            step = self._board.words(f"until.{what}")
            raise CliError("demo_stuck", what=step, log=self._stage.folder.log)

    async def _letters(self) -> None:
        wanted = sum(sum(states.values()) for states in self.expected.values())
        loop = asyncio.get_running_loop()
        end = loop.time() + LETTERS_S
        while len(self._stage.bot.received) < wanted and loop.time() < end:
            await asyncio.sleep(LOOK_S)
