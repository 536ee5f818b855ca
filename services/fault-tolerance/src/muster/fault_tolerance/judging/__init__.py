"""Judging failed jobs: asks what is known, lets `core` decide, and records."""
