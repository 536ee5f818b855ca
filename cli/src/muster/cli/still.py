"""Questions to a snapshot in a file, answered here by the scheduler's own code.

Called by `fit` and `explain` with --snapshot, and by `snapshot`, which writes the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.bus import Question
from muster.cli.choosing import choose
from muster.cli.errors import CliError
from muster.cli.imagining import Supposed
from muster.contracts import subjects
from muster.contracts.queries import ExplainJob, FitJob, Query, QueryAnswer
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.cycle import stills
from muster.scheduler.cycle.questions import Questions
from muster.scheduler.settings import SchedulerSettings


class Still:
    """A pool as it was; policy from the environment, as the scheduler's (MUSTER_SCHEDULER_*)."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.pool = snapshot.pool
        self._states = [job.state for job in snapshot.jobs]
        self._questions = Questions(stills.Still(snapshot), SchedulerSettings().policy)

    async def explain(self, text: str, as_if: Supposed) -> QueryAnswer:
        """Explain the job that a person means. Raises CliError."""
        state = choose(self._states, text)
        return await self._ask(
            ExplainJob(
                tenant=state.tenant,
                job=state.job,
                what_if=as_if.what_if,
                priority=as_if.priority,
            )
        )

    async def fit(
        self, spec: Mapping[str, Any], tenant: str, user: str, as_if: Supposed
    ) -> QueryAnswer:
        """Say what would become of a job."""
        return await self._ask(
            FitJob(
                tenant=tenant,
                user=user,
                spec=spec,
                what_if=as_if.what_if,
                priority=as_if.priority,
            )
        )

    async def _ask(self, query: Query) -> QueryAnswer:
        subject = subjects.query_subject(self.pool, query.kind)
        body = query.model_dump_json(exclude_none=True).encode()
        return QueryAnswer.model_validate_json(
            await self._questions.answer(Question(subject, body))
        )


def read_still(path: Path) -> Still:
    """Read a file that `muster snapshot` wrote. Raises CliError."""
    try:
        text = path.read_text(encoding="utf-8")
        return Still(stills.load(text))
    except (OSError, UnicodeDecodeError, stills.NoSnapshot) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CliError("snapshot_file", path=path, why=why) from error
