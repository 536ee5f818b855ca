"""The scheduler's decisions: `plan(snapshot, policy)` and what it is made of. Pure."""
