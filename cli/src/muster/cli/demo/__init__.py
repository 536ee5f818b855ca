"""The demo: a training that is evicted, resumes from its checkpoint, and proves it."""
