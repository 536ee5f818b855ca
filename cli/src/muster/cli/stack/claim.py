"""Taking the state folder for one `up`, or saying which other one has it.

Apart from what is then started, so that a second `up` is refused before anything is imported.
"""

from __future__ import annotations

from muster.cli.errors import CliError
from muster.cli.stack.folder import StateFolder


def claim(folder: StateFolder) -> int:
    """Return a descriptor that holds the folder until it is closed. Raises CliError."""
    folder.prepare()
    lock = folder.take_lock()
    if lock is not None:
        return lock
    other = folder.read()
    if other is None or not other.ready:
        raise CliError("starting", state=folder.path)
    raise CliError("already_up", state=folder.path, pid=other.pid, gateway=other.gateway)
