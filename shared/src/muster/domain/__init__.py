"""What a job is and how it may change: values, tables and pure functions.

Nothing here reads a clock, draws a random number, or does I/O. Everything else in Muster may import
this package; it imports nothing of Muster's.
"""
