"""Looks into a folder of checkpoints on this machine: which is the newest one that is whole?

Bounded: names of one folder, some candidates, and of each only what tells a torn file from a whole
one (a zip's directory, a header, a manifest). Reading only. Blocks, and on a dead mount for long.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from muster.domain.evidence import CheckpointFolder, CheckpointFound
from muster.executor.core.checkpoints import TRACKERS, Entry, candidates, unfinished

NAMES = 10_000
"""Names of one folder that are read."""
LOOKED_INTO = 16
"""Checkpoints that are looked into; one that is whole ends the search."""
FILES = 2_000
"""Files of one checkpoint."""
SMALL = 1 << 20
"""Bytes of a manifest, an index or a tracker that are read, at most."""
HASHED = 1 << 28
"""Bytes of one checkpoint whose checksums are compared, at most."""

_ZIPS = (".pt", ".pth", ".bin", ".ckpt", ".npz")
_MANIFESTS = ("manifest.json", "checkpoint_manifest.json")


class Broken(Exception):
    """A checkpoint is not whole; says why."""


def look(path: Path) -> CheckpointFolder:
    """Return the newest checkpoints of a folder down to the first one that is whole."""
    try:
        entries, trackers = _listed(path)
    except OSError as error:
        return CheckpointFolder(path=str(path), error=error.strerror or str(error))
    found: list[CheckpointFound] = []
    for entry in candidates(entries)[:LOOKED_INTO]:
        why = unfinished(entry, trackers) or _broken(path / entry.name)
        found.append(CheckpointFound(name=entry.name, step=entry.step, complete=not why, why=why))
        if not why:
            break
    return CheckpointFolder(path=str(path), found=tuple(found))


def _listed(path: Path) -> tuple[list[Entry], dict[str, str]]:
    with os.scandir(path) as names:
        found = [
            Entry(each.name, each.is_dir(), each.stat().st_mtime)
            for each in islice(names, NAMES)
            if each.is_dir() or each.is_file()
        ]
    there = {entry.name for entry in found if not entry.folder}
    return found, {name: _text(path / name) for name in TRACKERS if name in there}


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(SMALL).decode("utf-8", errors="replace")


def _broken(path: Path) -> str:
    """Return what is wrong with a checkpoint, "" if nothing is."""
    try:
        if path.is_dir():
            _check_folder(path)
        else:
            _check_file(path)
    except (OSError, Broken) as error:
        return str(error)[:200]
    return ""


def _check_folder(path: Path) -> None:
    files = list(islice(_files(path), FILES))
    if not files:
        raise Broken("it is empty")
    for name in _MANIFESTS:
        if (path / name).is_file():
            _check_manifest(path, _json(path / name))
    _check_framework(path, {str(each.relative_to(path)) for each in files})
    for each in files:
        _check_file(each)


def _files(path: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            yield Path(folder) / name


def _check_framework(path: Path, names: set[str]) -> None:
    """What each framework writes last, or must have."""
    if path.name.startswith("checkpoint-") and "trainer_state.json" not in names:
        raise Broken("trainer_state.json, which is written last, is missing")
    if path.name.startswith("global_step") and not any(n.endswith("states.pt") for n in names):
        raise Broken("no file of states is in it")
    if any(name.endswith(".distcp") for name in names) and ".metadata" not in names:
        raise Broken(".metadata, which is written last, is missing")
    for name in names:
        if name.endswith(".index.json"):
            _check_index(path / name)


def _check_index(index: Path) -> None:
    weights = _json(index).get("weight_map")
    for name in sorted(set(weights.values())) if isinstance(weights, Mapping) else ():
        if not (index.parent / str(name)).is_file():
            raise Broken(f"{name}, which {index.name} names, is missing")


def _check_file(path: Path) -> None:
    name = path.name.lower()
    if not name.endswith((*_ZIPS, ".safetensors", ".distcp", ".json")):
        return
    if path.stat().st_size == 0:
        raise Broken(f"{path.name} is empty")
    if name.endswith(_ZIPS):
        _check_zip(path)
    elif name.endswith(".safetensors"):
        _check_safetensors(path)
    elif name == "trainer_state.json":
        _json(path)


def _check_zip(path: Path) -> None:
    """A file of PyTorch or NumPy is a zip, whose directory is written last; an old one a pickle."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            return
    try:
        with zipfile.ZipFile(path) as archive:
            archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Broken(f"{path.name} is cut off or damaged: {error}") from error


def _check_safetensors(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else SMALL * 100
        if length > SMALL * 64:
            raise Broken(f"{path.name} has no header")
        header = _parsed(path.name, file.read(length))
    ends = (t["data_offsets"][1] for n, t in header.items() if n != "__metadata__")
    try:
        wanted = 8 + length + max(ends, default=0)
    except (KeyError, TypeError, IndexError) as error:
        raise Broken(f"{path.name} has a header that cannot be read") from error
    if path.stat().st_size < wanted:
        raise Broken(f"{path.name} has {path.stat().st_size} of {wanted} bytes")


def _check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Compare names, sizes and checksums with what a manifest says of its files."""
    hashed = 0
    for name, said in _manifest_files(manifest):
        file = path / name
        if not file.resolve().is_relative_to(path.resolve()) or not file.is_file():
            raise Broken(f"{name}, which the manifest names, is missing")
        size, wanted = file.stat().st_size, said.get("size", said.get("bytes"))
        if isinstance(wanted, int) and size != wanted:
            raise Broken(f"{name} has {size} of {wanted} bytes")
        digest = said.get("sha256")
        hashed += size if digest else 0
        if isinstance(digest, str) and hashed <= HASHED and _sha256(file) != digest.lower():
            raise Broken(f"{name} does not match its checksum")


def _manifest_files(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    files = manifest.get("files")
    if isinstance(files, Mapping):
        for name, said in files.items():
            yield str(name), said if isinstance(said, Mapping) else {}
    for said in files if isinstance(files, list) else ():
        if isinstance(said, Mapping) and ("path" in said or "name" in said):
            yield str(said.get("path", said.get("name"))), said


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(path: Path) -> Mapping[str, Any]:
    with path.open("rb") as file:
        return _parsed(path.name, file.read(64 * SMALL))


def _parsed(name: str, raw: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError as error:
        raise Broken(f"{name} is cut off or damaged: it is no JSON") from error
    if not isinstance(found, Mapping):
        raise Broken(f"{name} is no mapping")
    return found
