"""The event log: read the last fact, append the next one on condition."""
