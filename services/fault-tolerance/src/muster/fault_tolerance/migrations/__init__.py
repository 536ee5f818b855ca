"""The history of the fault tolerance's tables, run by the runtime's migration helper at start."""
