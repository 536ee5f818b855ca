"""Tools of tests and simulations: a world in virtual time, faults, invariants, scenarios.

Nothing here imports a service: whoever composes a world brings the services' builders along.
"""
