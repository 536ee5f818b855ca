"""One module a step, oldest first; widen first, narrow a release later."""
