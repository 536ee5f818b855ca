"""What crosses the bus: events, requests, answers, alarms, and the subjects they travel on.

Built and parsed here and nowhere else. Imports only `muster.domain`.
"""
