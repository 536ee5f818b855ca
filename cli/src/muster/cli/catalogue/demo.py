"""Texts of the demo."""

from __future__ import annotations

DEMO: dict[str, tuple[str, str]] = {}
