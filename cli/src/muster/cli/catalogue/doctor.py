"""Texts of `muster doctor`: what each finding says, and what to do about it."""

from __future__ import annotations

DOCTOR: dict[str, tuple[str, str]] = {}
