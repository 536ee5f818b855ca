"""The executor: makes one cluster agree with the log."""
