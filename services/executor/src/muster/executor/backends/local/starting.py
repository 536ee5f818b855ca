"""Starting keepers, all of one call with one interpreter.

Asking again for a worker is harmless: of two keepers only one can claim the folder. `backend` calls
this in a thread; when it returns, every worker runs or has a record that says why not.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from muster.domain.errors import Temporary
from muster.executor.backends.local import keeper


def start_keepers(folders: Sequence[Path], errors: Path, timeout: float) -> None:
    """Start a keeper for each folder. Raises Temporary if that takes too long or fails.

    errors: file for what goes wrong in a keeper itself; the worker's output goes to its own log.
    """
    if not folders:
        return
    with errors.open("ab") as output:
        starter = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, *map(str, folders)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": "/usr/bin:/bin"},  # `ps`, where there is no /proc; nothing of ours
            start_new_session=True,
        )
    try:
        code = starter.wait(timeout)
    except subprocess.TimeoutExpired as error:
        starter.kill()  # the keepers that it has forked go on
        starter.wait()
        raise Temporary(f"keepers not ready after {timeout} s", delay=2.0) from error
    if code:
        raise Temporary(f"keepers not started (status {code}); see {errors}", delay=2.0)
