"""The executor's decisions: pure functions over frozen values."""
