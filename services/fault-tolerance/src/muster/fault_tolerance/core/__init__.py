"""Fault tolerance's decisions: pure functions over frozen values."""
