"""The gateway's settings, from the environment (`MUSTER_GATEWAY_*`). Read once, at start."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from typing import Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class GatewaySettings(BaseSettings):
    """What an operator may set. Durations are seconds unless the name says hours."""

    model_config = SettingsConfigDict(env_prefix="MUSTER_GATEWAY_", extra="forbid", frozen=True)

    database_url: SecretStr | None = Field(
        default=None, description="SQLAlchemy URL of the archive; none = the runtime's choice."
    )
    http: bool = Field(
        default=True, description="Serve HTTP; off where only the archive is wanted."
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8420, ge=0, le=65535, description="Port to listen on; 0 = a free one."
    )
    token: SecretStr | None = Field(
        default=None, description="What every reader of /api must send as a bearer token."
    )
    open: bool = Field(
        default=False, description="Allow an address that is not loopback without a token."
    )
    heartbeat_s: float = Field(default=15.0, gt=0, description="A sign of life on idle streams.")
    stream_queue: int = Field(default=1024, ge=1, description="Changes that wait for one client.")
    stream_clients: int = Field(default=200, ge=1, description="Streams open at the same time.")
    stream_send_s: float = Field(default=10.0, gt=0, description="One write to a client at most.")
    stream_replay: int = Field(default=4096, ge=1, description="Changes kept to resume from.")
    leader_s: float = Field(
        default=2.0, gt=0, description="Wait for the log before the archive answers."
    )
    plan_s: float = Field(
        default=15.0, gt=0, description="Wait for a scheduler's answer to a question."
    )
    follow_s: float = Field(default=0.02, gt=0, le=60, description="Between two looks at the log.")
    follow_wait_s: float = Field(default=1.0, ge=0, description="One look at the log at most.")
    lag_s: float = Field(default=10.0, gt=0, description="How long the view may lag and be ready.")
    sweep_s: float = Field(default=5.0, gt=0, description="Between two looks for unarchived ends.")
    hot_hours: float = Field(
        default=24.0,
        ge=0,
        description="Hours after a job's end until the log keeps its last event only; 0 = never.",
    )
    trim_s: float = Field(default=60.0, gt=0, description="Between two turns of trimming the log.")
    trim_jobs: int = Field(default=100, ge=1, le=1000, description="Jobs trimmed in one turn.")

    @model_validator(mode="after")
    def _not_open_by_accident(self) -> Self:
        if self.http and not self.is_loopback and self.token is None and not self.open:
            raise ValueError(
                f"host {self.host} is not loopback: set MUSTER_GATEWAY_TOKEN, or"
                " MUSTER_GATEWAY_OPEN=true where something before the gateway checks who reads"
            )
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def hot(self) -> timedelta | None:
        """How long after its end a job's events stay in the log; None = for ever."""
        return timedelta(hours=self.hot_hours) if self.hot_hours else None
