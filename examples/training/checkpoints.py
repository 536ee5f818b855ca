"""Checkpoints on disk: written so that a crash at any moment leaves a whole one behind.

A file gets its name only when all of it is on disk, the last few are kept, and what cannot be read
back is set aside and the one before it is used. It must not know what the arrays mean. Only rank 0
calls it, by way of `train.py`.
"""

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

KEEP = 3
PATTERN = "step-*.npz"
DAMAGED_SUFFIX = ".damaged"

# What reading a torn or altered zip of arrays can raise; NotImplementedError and RuntimeError are
# the zip module's words for flags (compression, encryption) that this program never writes.
UNREADABLE = (EOFError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The newest whole checkpoint, and the newer damaged files that were set aside."""

    path: Path | None
    arrays: Arrays
    damaged: tuple[Path, ...]


def encode(arrays: Arrays) -> bytes:
    """The content of a checkpoint file."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def decode(content: bytes) -> Arrays:
    """The arrays in a checkpoint file; one of UNREADABLE when it is not whole.

    The checksums come first: on altered bytes numpy's parser raises almost anything.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if torn := archive.testzip():
            raise zipfile.BadZipFile(f"{torn} does not match its checksum")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def save(directory: Path, step: int, content: bytes) -> Path:
    """Write one checkpoint whole or not at all, then delete the oldest; OSError when it fails."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"step-{step:08d}.npz"
    unfinished = directory / f".{path.name}.unfinished"
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_directory(directory)
    for old in sorted(directory.glob(PATTERN))[:-KEEP]:
        old.unlink(missing_ok=True)
    return path


def load_newest(directory: Path) -> Loaded:
    """The newest whole checkpoint; its path is None when there is none. OSError: disk trouble.

    A damaged file is renamed, not deleted: a person may want to look at it, but it must not count
    among those that are kept. A file that the disk does not give is not known to be damaged.
    """
    damaged: list[Path] = []
    for path in sorted(directory.glob(PATTERN), reverse=True):
        try:
            return Loaded(path, decode(path.read_bytes()), tuple(damaged))
        except UNREADABLE:
            damaged.append(path.replace(path.with_name(path.name + DAMAGED_SUFFIX)))
    return Loaded(None, {}, tuple(damaged))


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
