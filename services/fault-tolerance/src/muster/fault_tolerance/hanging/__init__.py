"""Watching running jobs for hangs: asks the executor, lets `core.hang` judge, and records."""
