"""A whole Muster in one process: start it, find it, stop it."""
