"""Settings of admission, from the environment (prefix MUSTER_ADMISSION_)."""

from __future__ import annotations

from typing import Literal

from pydantic_settings import BaseSettings, SettingsConfigDict


class AdmissionSettings(BaseSettings):
    """spot: who may use it while no operator has said anything of a tenant.

    open: everybody; granted: nobody, until an operator grants it (muster quota spot).
    """

    model_config = SettingsConfigDict(env_prefix="MUSTER_ADMISSION_", extra="forbid", frozen=True)

    spot: Literal["open", "granted"] = "open"
