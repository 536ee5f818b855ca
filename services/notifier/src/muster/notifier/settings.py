"""The notifier's settings, from the environment (`MUSTER_NOTIFIER_*`). Read once, at start."""

from __future__ import annotations

from datetime import UTC, timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from muster.notifier.allowlist import Allowlist, is_loopback, origin_of
from muster.notifier.core.choosing import Pace
from muster.notifier.core.links import Links

MARGIN_S = 10.0
"""What is left of a lease after the longest send: a claim may take so long, and no longer."""


class NotifierSettings(BaseSettings):
    """What an operator may set. Durations are seconds."""

    model_config = SettingsConfigDict(env_prefix="MUSTER_NOTIFIER_", extra="forbid", frozen=True)

    database_url: SecretStr | None = Field(
        default=None,
        description="SQLAlchemy URL for rules and deliveries; none means the runtime's default.",
    )
    key: SecretStr | None = Field(
        default=None,
        description="Keys that addresses are sealed with, newest first, comma-separated.",
    )
    key_file: Path | None = Field(
        default=None, description="The same in a file, a key a line; none of both means an own key."
    )
    rules_file: Path | None = Field(
        default=None, description="YAML file of rules and addresses; none means nobody is told."
    )
    extra_addresses: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further webhook origins, comma-separated: https, or http on loopback.",
    )
    send_timeout_s: float = Field(default=10.0, gt=0, le=60, description="One request at most.")
    claim_lease_s: float = Field(
        default=60.0, gt=0, description="How long a replica owns an address that it is sending to."
    )
    keep_days: int = Field(
        default=90, ge=2, description="How long the ledger keeps a notice that was settled."
    )
    senders: int = Field(
        default=32, ge=1, le=512, description="Addresses that are sent to at the same time."
    )
    grouped: bool = Field(
        default=True, description="Gather many notices into digests; false sends each by itself."
    )
    group_wait_s: float = Field(
        default=5.0, ge=0, le=300, description="How long a notice waits for others of its kind."
    )
    group_interval_s: float = Field(
        default=60.0, ge=0, le=3600, description="From one digest of a kind to its next."
    )
    quiet_half_hours: bool = Field(
        default=True, description="Keep what is not urgent off the rush at full and half hours."
    )
    link_job: str = Field(
        default="", description="Page of a job, with {tenant} and {job} in it; none means no link."
    )
    link_log: str = Field(default="", description="Page of a job's log, as link_job.")
    link_timeline: str = Field(default="", description="Page of a job's events, as link_job.")
    proxy: SecretStr | None = Field(default=None, description="HTTP proxy for the way out.")
    time_zone: str = Field(default="UTC", description="IANA name; the times in messages use it.")

    @field_validator("extra_addresses", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("extra_addresses")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_origin(address) for address in value)

    @field_validator("link_job", "link_log", "link_timeline")
    @classmethod
    def _pages(cls, value: str) -> str:
        if value and not value.startswith(("https://", "http://")):
            raise ValueError("a page must be a URL that begins with https:// or http://")
        return value

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            _zone(value)
        except (OSError, ValueError, LookupError) as error:
            raise ValueError("not a time zone of this machine") from error
        return value

    @model_validator(mode="after")
    def _lease_outlives_a_send(self) -> Self:
        """A lease that ends during a send lets a second replica send the same."""
        if self.claim_lease_s < self.send_timeout_s + MARGIN_S:
            raise ValueError(f"claim_lease_s must be at least send_timeout_s + {MARGIN_S}")
        return self

    @property
    def allowlist(self) -> Allowlist:
        """The origins that may be called."""
        return Allowlist(frozenset(self.extra_addresses))

    @property
    def zone(self) -> tzinfo:
        """The time zone of messages."""
        return _zone(self.time_zone)

    @property
    def links(self) -> Links:
        """Where a card's links lead."""
        return Links(self.link_job, self.link_log, self.link_timeline)

    @property
    def pace(self) -> Pace:
        """How notices are gathered."""
        return Pace(
            grouped=self.grouped,
            wait=self.group_wait_s,
            interval=self.group_interval_s,
            quiet=self.quiet_half_hours,
        )

    @property
    def claim_lease(self) -> timedelta:
        """How long a claim holds."""
        return timedelta(seconds=self.claim_lease_s)

    @property
    def kept(self) -> timedelta:
        """How long the ledger keeps what was settled."""
        return timedelta(days=self.keep_days)


def _zone(name: str) -> tzinfo:
    # a slim image may hold no time zones; the default must work there too
    return UTC if name == "UTC" else ZoneInfo(name)


def _origin(address: str) -> str:
    origin = origin_of(address)
    if origin is None:
        raise ValueError("an address must be an origin such as https://chat.example.com")
    parts = urlsplit(origin)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("plain http is allowed on loopback only")
    return origin
