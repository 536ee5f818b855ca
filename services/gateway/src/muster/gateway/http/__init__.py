"""HTTP for people and programs: read-only, one page of JSON a question, one stream of changes.

The only part of the gateway with an event loop of its own making; absent where `http` is off.
"""
