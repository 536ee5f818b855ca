"""The environment of a worker: a small base, the job's own variables, then what only we know.

Nothing of the service's own environment passes but the names in `_INHERITED`: its credentials are
not the job's business. `launching` calls it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from muster.executor.backends import Launch
from muster.executor.backends.local.cards import WHOLE
from muster.executor.backends.local.placement import LOOPBACK

_INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",  # where many machines keep the GPU libraries
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "USER",
)
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def worker_environment(
    launch: Launch, *, port: int, devices: str, stop_file: Path, base: Mapping[str, str]
) -> dict[str, str]:
    """Return every variable that the worker starts with. base: usually `os.environ`."""
    return {**_base(base), **launch.env, **_ours(launch, port, devices, stop_file)}


def _base(environ: Mapping[str, str]) -> dict[str, str]:
    """`python` in a job is the interpreter that runs Muster, with the same modules."""
    kept = {name: environ[name] for name in _INHERITED if name in environ}
    tools = str(Path(sys.executable).parent)
    kept["PATH"] = os.pathsep.join((tools, environ.get("PATH") or _DEFAULT_PATH))
    kept["PYTHONUNBUFFERED"] = "1"  # a line of the log is seen when it is printed
    kept.setdefault("LANG", "C.UTF-8")
    if environ.get("PYTHONPATH"):
        parts = environ["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in parts if part)
    return kept


def _ours(launch: Launch, port: int, devices: str, stop_file: Path) -> dict[str, str]:
    key = launch.key
    return {
        "RANK": str(launch.rank),
        "WORLD_SIZE": str(launch.world_size),
        "LOCAL_RANK": str(launch.local_rank),
        "MASTER_ADDR": LOOPBACK,
        "MASTER_PORT": str(port),
        "CUDA_VISIBLE_DEVICES": devices,  # empty hides every GPU from a worker that asked for none
        "MUSTER_JOB": key.job,
        "MUSTER_ATTEMPT": str(key.attempt),
        "MUSTER_WORKER": key.worker,
        "MUSTER_NODE": launch.node,
        "MUSTER_GPU_MILLI": str(launch.gpu_milli or launch.gpus * WHOLE),
        "MUSTER_STOP_FILE": str(stop_file),
    }
