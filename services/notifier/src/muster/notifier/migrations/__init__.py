"""The history of the notifier's tables, run by the runtime's migration helper at start."""
