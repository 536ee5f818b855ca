"""Requeue: queues a released job again, or says why not."""
