"""Fault tolerance: tells the causes of a failure apart and decides what follows."""
