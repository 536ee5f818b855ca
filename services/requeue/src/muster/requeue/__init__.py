"""Requeue: what happens to a job that was taken off its nodes, and how long it may wait."""
