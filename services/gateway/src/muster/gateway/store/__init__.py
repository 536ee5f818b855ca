"""The archive: every event of the log for good, and each job's last state to search by.

Plain synchronous functions over a connection; the caller owns the transaction and the thread. Fed
in any order, by several replicas at once; told twice, it is the same archive.
"""
