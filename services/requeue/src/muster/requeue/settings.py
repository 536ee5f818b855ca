"""Settings of requeue, from the environment (prefix MUSTER_REQUEUE_)."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class RequeueSettings(BaseSettings):
    """sweep_s: seconds between two looks at the index of deadlines."""

    model_config = SettingsConfigDict(env_prefix="MUSTER_REQUEUE_", extra="forbid", frozen=True)

    sweep_s: float = Field(default=1.0, gt=0, le=60)
