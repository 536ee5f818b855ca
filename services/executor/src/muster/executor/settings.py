"""Settings of the executor, from the environment (prefix MUSTER_EXECUTOR_)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ExecutorSettings(BaseSettings):
    """cluster, pool: what this executor looks after. nodes_file: nodes of the local backend.

    Intervals are seconds. retry_s: wait after a refusal that is not the job's fault. lapse_s: so
    long after the deadline of a reclaim notice a node that is still there takes new work again.
    watch_progress: read workers' output for checkpoints and steps, every progress_s. settle_s: how
    long after its first step a training that runs again may be silent of a loaded checkpoint before
    its progress is called lost. collect_metrics: ask workers for their jobs' own metrics, every
    metrics_s; metrics_series: of one worker, metrics_total: of all; who has more is left out.
    """

    model_config = SettingsConfigDict(env_prefix="MUSTER_EXECUTOR_", extra="forbid", frozen=True)

    cluster: str = "local"
    pool: str = "default"
    nodes_file: Path | None = None
    workdir: Path | None = None
    watch_s: float = Field(default=0.1, gt=0)
    sweep_s: float = Field(default=1.0, gt=0)
    nodes_s: float = Field(default=2.0, gt=0)
    logs_s: float = Field(default=0.2, gt=0)
    retry_s: float = Field(default=10.0, gt=0)
    lapse_s: float = Field(default=480.0, ge=0)
    publish_logs: bool = True
    watch_progress: bool = True
    progress_s: float = Field(default=1.0, gt=0)
    settle_s: float = Field(default=10.0, ge=0)
    collect_metrics: bool = True
    metrics_s: float = Field(default=15.0, gt=0)
    metrics_series: int = Field(default=1000, ge=1)
    metrics_total: int = Field(default=100_000, ge=1)
    outlived_s: float = Field(default=120.0, ge=0)
    outlived_look_s: float = Field(default=5.0, gt=0)
