"""The runtime: hosts services, and owns clock, settings and the embedded server."""
