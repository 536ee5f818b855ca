"""Settings of fault tolerance, from the environment (prefix MUSTER_FAULT_TOLERANCE_)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from muster.fault_tolerance.hanging.settings import HangSettings
from muster.fault_tolerance.node_settings import NodeSettings


class FaultToleranceSettings(HangSettings, NodeSettings):
    """sweep_s: seconds between two looks at the index of deadlines. hang_*: see HangSettings.

    database_url: SQLAlchemy URL; none = the runtime's.
    rules_dir: folder of a site's own rules of failures, read again whenever a file in it changes.
    """

    model_config = SettingsConfigDict(
        env_prefix="MUSTER_FAULT_TOLERANCE_", extra="forbid", frozen=True
    )

    sweep_s: float = Field(default=1.0, gt=0, le=60)
    database_url: SecretStr | None = None
    rules_dir: Path | None = None
