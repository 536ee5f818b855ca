"""The executor: makes a cluster look like the log says, and tells the log what it shows."""
