"""Which checkpoint of a folder the next attempt should go on from: the newest one that is whole.

Pure. A backend lists the folder and looks into candidates, newest first, until one is whole;
`order` says in which order, `tracked` which of them the framework itself calls unfinished. What is
broken is told and left where it is: nothing is ever deleted or moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TRACKERS = ("latest", "latest_checkpointed_iteration.txt")
"""Files in which DeepSpeed and Megatron name the last checkpoint that was finished."""

SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".npz", ".safetensors", ".distcp", ".tar")
_FOLDER = re.compile(
    r"(?:(?:tmp-)?checkpoint|global_step|iter|step|epoch|ckpt)[-_=]?\d{1,15}(?!\d).{0,80}",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?:step|iter|checkpoint|ckpt)[-_=]{0,2}(\d{1,15})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,15})")
_UNFINISHED = re.compile(
    r"^(?:\.|tmp[-_])|\.(?:tmp|temp|part|partial|unfinished|incomplete)(?:\.|$)|-tmp$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a checkpoint folder. modified: seconds since 1970."""

    name: str
    folder: bool
    modified: float = 0.0

    @property
    def step(self) -> int | None:
        """The step that its name says."""
        found = _STEP.search(self.name) or _NUMBER.search(self.name)
        return int(found[1]) if found else None

    @property
    def unfinished(self) -> bool:
        """Whether its name says that it is still being written."""
        return _UNFINISHED.search(self.name) is not None


def candidates(entries: Iterable[Entry]) -> list[Entry]:
    """Return what may be a checkpoint, the newest first: by step, else by time."""
    found = [each for each in entries if _may_be(each)]
    return sorted(
        found,
        key=lambda e: (e.step is not None, e.step or 0, not e.unfinished, e.modified),
        reverse=True,
    )


def _may_be(entry: Entry) -> bool:
    if entry.folder:
        return _FOLDER.fullmatch(entry.name.lstrip(".")) is not None
    name = entry.name.lower()
    return name.endswith(SUFFIXES) or (
        entry.unfinished and any(suffix in name for suffix in SUFFIXES)
    )


def unfinished(entry: Entry, trackers: Mapping[str, str]) -> str:
    """Return why an entry cannot be a whole checkpoint, whatever is in it; "" if it may be one.

    trackers: what the files of TRACKERS that are there say.
    """
    if entry.unfinished:
        return "its name says that it was still being written"
    for tracker, text in trackers.items():
        last = _tracked(tracker, text)
        if last is not None and _is_tracked(tracker, entry) and (entry.step or 0) > last:
            return f"{tracker} says that {text.strip()[:80]} was the last one to be finished"
    return ""


def _tracked(tracker: str, text: str) -> int | None:
    if tracker == "latest" and not text.strip().startswith("global_step"):
        return None  # DeepSpeed lets its user choose any name; then no number says which is newer
    found = _NUMBER.search(text)
    return int(found[1]) if found else None


def _is_tracked(tracker: str, entry: Entry) -> bool:
    prefix = "global_step" if tracker == "latest" else "iter_"
    return entry.folder and entry.name.startswith(prefix)
