"""Fault tolerance: finds broken workers and nodes, and decides what follows."""
