"""Ways out to people. Each channel is one adapter of the port in `port.py`; none knows of jobs."""
