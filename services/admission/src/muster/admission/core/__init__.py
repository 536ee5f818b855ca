"""Admission's decisions: pure functions over frozen values."""
