"""Starts `muster up` as a process of its own, and waits until it is ready.

Called by `up --detach` and by the demo, which runs what everybody runs.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.cli.errors import CliError
from muster.cli.stack.folder import StateFolder, Up

READY_S = 90.0
POLL_S = 0.05
WORDS = 400


async def start_up(
    folder: StateFolder,
    arguments: Sequence[str],
    *,
    workdir: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Up:
    """Start `muster up` on this folder in the background. Raises CliError with its last words.

    environ: instead of this process's own.
    """
    folder.prepare()
    words = folder.path / "up.out"
    command = [sys.executable, "-m", "muster.cli", "up", "--state", str(folder.path), *arguments]
    child = _spawn(command, words, workdir, environ if environ is not None else os.environ)
    try:
        async with asyncio.timeout(READY_S):
            return await _ready(folder, child, words)
    except TimeoutError as error:
        child.terminate()
        raise CliError("start_failed", why="timeout", log=folder.log) from error


def _spawn(
    command: Sequence[str], words: Path, workdir: Path | None, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    with words.open("wb") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=workdir,
            env=environ,
            start_new_session=True,
        )


async def _ready(folder: StateFolder, child: subprocess.Popen[bytes], words: Path) -> Up:
    while child.poll() is None:
        up = folder.read()
        if up is not None and up.pid == child.pid and up.ready:
            return up
        await asyncio.sleep(POLL_S)
    why = _last(words) or child.returncode
    raise CliError("start_failed", why=why, log=folder.log)


def _last(words: Path) -> str:
    return words.read_text(encoding="utf-8", errors="replace").strip()[-WORDS:]
