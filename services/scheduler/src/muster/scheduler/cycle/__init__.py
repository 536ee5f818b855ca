"""The scheduler's turn: read the log, lead or stand by, plan, and write the round as one batch.

`fold` what is known of a pool; `leadership` who may decide there; `batch` a plan as appends;
`summary` what others are told; `pool` one pool's turn; `checkpoint` a file to start from.
"""
