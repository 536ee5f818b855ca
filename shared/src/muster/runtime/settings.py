"""Settings that every service's process has, from the environment (prefix MUSTER_)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class HostSettings(BaseSettings):
    """Where the log is, where state lives, and how the process shows itself.

    nats_url may carry a token, so it is a secret. nats_credentials: a .creds file. database_url: a
    SQLAlchemy URL for services that name none of their own; without one each gets a SQLite file in
    state_dir. http_port: health and metrics; 0 takes a free one, None opens none.
    """

    model_config = SettingsConfigDict(env_prefix="MUSTER_", extra="ignore", frozen=True)

    nats_url: SecretStr = SecretStr("nats://127.0.0.1:4222")
    nats_credentials: Path | None = None
    state_dir: Path = Path(".muster")
    database_url: SecretStr | None = None
    replicas: int = Field(default=1, ge=1, le=5)
    http_host: str = "127.0.0.1"
    http_port: int | None = Field(default=None, ge=0, le=65535)
    log_level: str = "INFO"
    log_format: str = Field(default="json", pattern="^(json|console)$")
    stop_s: float = Field(default=15.0, gt=0)
