"""Settings of fault tolerance that are about nodes, incidents and how fast jobs restart."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field
from pydantic_settings import BaseSettings

from muster.fault_tolerance.core.freeze import SilenceLimits
from muster.fault_tolerance.core.incidents import IncidentLimits


class NodeSettings(BaseSettings):
    """nodes_s: seconds between two looks at nodes and incidents. exclude_nodes: off = sick nodes
    are only suspected and proposed.

    restarts_per_minute, restarts_at_once: of all jobs together; storage_restarts_per_minute: of
    jobs that mount the same volume. incident_jobs, incident_users: so many within incident_within_s
    on one storage, registry, image or switch are one incident, which is over after incident_quiet_s
    without another, longer than a retry waits. silence_nodes, silence_share: so many nodes of a
    pool, or such a part of them, lost within silence_within_s freeze what destroys.
    """

    nodes_s: float = Field(default=5.0, gt=0, le=300)
    exclude_nodes: bool = True
    restarts_per_minute: float = Field(default=60.0, gt=0, le=10_000)
    restarts_at_once: int = Field(default=20, ge=1, le=10_000)
    storage_restarts_per_minute: float = Field(default=20.0, gt=0, le=10_000)
    incident_jobs: int = Field(default=3, ge=2, le=1000)
    incident_users: int = Field(default=2, ge=1, le=1000)
    incident_within_s: float = Field(default=300.0, gt=0, le=3600)
    incident_quiet_s: float = Field(default=1200.0, ge=960, le=86_400)
    silence_nodes: int = Field(default=5, ge=2, le=10_000)
    silence_share: float = Field(default=0.2, gt=0, le=1)
    silence_within_s: float = Field(default=60.0, gt=0, le=3600)

    @property
    def incident_limits(self) -> IncidentLimits:
        """When failures are one incident."""
        return IncidentLimits(
            jobs=self.incident_jobs,
            users=self.incident_users,
            within=timedelta(seconds=self.incident_within_s),
            quiet=timedelta(seconds=self.incident_quiet_s),
        )

    @property
    def silence_limits(self) -> SilenceLimits:
        """When a pool is silent."""
        return SilenceLimits(
            nodes=self.silence_nodes,
            share=self.silence_share,
            within=timedelta(seconds=self.silence_within_s),
        )
