"""The checkpoint gate: what stands in a job's own folder, looked at before it is started again.

Only where the job declares `checkpoint_dir`. Nothing is deleted or moved: a broken checkpoint is
told of and passed over. The handlers write what is found with `launching`, and give the newest
whole one to the workers as MUSTER_RESUME_FROM; the desk of evidence tells it to fault tolerance.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import PurePath

import structlog

from muster.domain import facts as f
from muster.domain.errors import Temporary
from muster.domain.evidence import CheckpointFolder
from muster.domain.spec import JobSpec
from muster.domain.state import JobState

LOOK_S = 10.0
"""So long a folder may take to be read; a dead mount answers never."""
GLANCE_S = 3.0
"""The same where somebody waits for an answer about much else."""
FRESH_S = 30.0
"""So long an answer may tell what was seen before: one failure is asked about in pages."""
TOLD = 8
"""Broken checkpoints that a fact names."""

Look = Callable[[str], Awaitable[CheckpointFolder]]


class Gate:
    """look: the backend's; at one folder only one at a time, however long it takes."""

    def __init__(
        self,
        look: Look,
        patience: float = LOOK_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._patience, self._monotonic = look, patience, monotonic
        self._looking: dict[str, asyncio.Future[CheckpointFolder]] = {}
        self._seen: dict[str, tuple[float, CheckpointFolder]] = {}

    async def glance(self, spec: JobSpec) -> CheckpointFolder | None:
        """Return what stood in the folder within the last moments; for answers, not for starts."""
        path = spec.checkpoint_dir
        if not path:
            return None
        now = self._monotonic()
        self._seen = {p: seen for p, seen in self._seen.items() if now - seen[0] < FRESH_S}
        if path not in self._seen:
            found = await self._read(path, min(GLANCE_S, self._patience))
            self._seen[path] = (now, found)
        return self._seen[path][1]

    async def folder(self, spec: JobSpec) -> CheckpointFolder | None:
        """Return what stands in the folder that a job declares; None if it declares none."""
        return (
            await self._read(spec.checkpoint_dir, self._patience) if spec.checkpoint_dir else None
        )

    async def _read(self, path: str, patience: float) -> CheckpointFolder:
        if path not in self._looking:
            self._looking[path] = asyncio.ensure_future(self._look(path))
        looking = self._looking[path]
        try:
            return await asyncio.wait_for(asyncio.shield(looking), patience)
        except TimeoutError:
            return CheckpointFolder(path=path, error=f"no answer within {patience:.0f} s")
        except Temporary as error:
            return CheckpointFolder(path=path, error=str(error))
        finally:
            if looking.done():
                self._looking.pop(path, None)

    async def passed(self, state: JobState, spec: JobSpec, fact: f.Launching) -> f.Launching:
        """Return the fact with what a further attempt goes on from, and what is passed over."""
        found = await self.folder(spec) if state.attempt > 1 else None
        if found is None:
            return fact
        if found.error is not None:
            log = structlog.get_logger()
            log.warning("checkpoint folder not read", job=state.job, why=found.error)
        broken = tuple(each for each in found.found if not each.complete)
        return fact.model_copy(update={"resume_from": resume_from(found), "skipped": broken[:TOLD]})

    async def resume_from(self, state: JobState, spec: JobSpec) -> str | None:
        """Return the path that a further attempt is given."""
        found = await self.folder(spec) if state.attempt > 1 else None
        return resume_from(found) if found is not None else None


def resume_from(found: CheckpointFolder) -> str | None:
    """Return the path of the newest whole checkpoint of a folder."""
    newest = found.newest
    return str(PurePath(found.path) / newest.name) if newest is not None else None
