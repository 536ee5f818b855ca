"""From a specification and a placement to what the backend is asked to start.

Called by the handlers. Builds the environment by its precedence: the platform's own names are the
backend's to set, then this job's variables. Values of secrets are read here, at the last moment,
and go nowhere but into the worker's environment.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

from muster.domain.errors import Permanent
from muster.domain.spec import EnvVar, JobSpec
from muster.domain.state import JobState
from muster.executor.backends import Launch, WorkerKey
from muster.executor.core.masking import is_secret_name


class MissingSecret(Permanent):
    """The job refers to a secret that is not there; the message names it, never a value."""


class Launches:
    """Builds launches. state_dir holds `secrets/<name>/<key>` and `checkpoints/<job>`."""

    def __init__(self, state_dir: Path) -> None:
        self._secrets = state_dir / "secrets"
        self._checkpoints = state_dir / "checkpoints"

    def build(
        self,
        state: JobState,
        spec: JobSpec,
        names: tuple[str, ...],
        resume_from: str | None = None,
    ) -> list[Launch]:
        """Return a launch for each named worker. Raises MissingSecret.

        resume_from: the checkpoint that the attempt should go on from.
        """
        order = state.demand.workers
        env = self._environment(state, spec)
        if resume_from is not None:
            env["MUSTER_RESUME_FROM"] = resume_from
        local: Counter[str] = Counter()
        launches = []
        for rank, name in enumerate(order):
            node = state.placed_on.get(name)
            if node is None:
                continue
            if name in names:
                launches.append(
                    Launch(
                        key=WorkerKey(state.job, state.attempt, name),
                        node=node,
                        gpus=state.demand.role_of(name).gpus,
                        command=spec.command,
                        env=env,
                        rank=rank,
                        world_size=len(order),
                        local_rank=local[node],
                        leader=order[0],
                        gpu_milli=state.demand.role_of(name).gpu_milli,
                        card=state.cards.get(name),
                    )
                )
            local[node] += 1
        return launches

    def secrets(self, spec: JobSpec) -> tuple[str, ...]:
        """Return the secret values that a job is given, to be masked; never to be told."""
        found = []
        for variable in spec.environment:
            if variable.secret_ref is not None:
                with contextlib.suppress(MissingSecret):
                    found.append(self._value(variable))
            elif is_secret_name(variable.name) and variable.value:
                found.append(variable.value)
        return tuple(found)

    def _environment(self, state: JobState, spec: JobSpec) -> dict[str, str]:
        directory = spec.checkpoint_dir or self._own_directory(state)
        env = {variable.name: self._value(variable) for variable in spec.environment}
        return env | {
            "MUSTER_CHECKPOINT_DIR": directory,
            "MUSTER_TENANT": state.tenant,
            "MUSTER_JOB_NAME": state.name,
        }

    def _own_directory(self, state: JobState) -> str:
        directory = (self._checkpoints / state.job).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return str(directory)

    def _value(self, variable: EnvVar) -> str:
        reference = variable.secret_ref
        if reference is None:
            return variable.value or ""
        path = self._secrets / reference.secret / reference.key
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise MissingSecret(
                f"environment variable {variable.name}: there is no secret"
                f" {reference.secret}/{reference.key}; create it, or correct the reference"
            ) from error
