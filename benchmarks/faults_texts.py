"""The output of the workers of a case: ordinary lines, then the telling ones, then what survivors
say. The same case gives the same text every time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import yaml

from benchmarks.faults_cases import FOLDER, Case

_FRAME = re.compile(r"@(?P<path>[^:]+):(?P<line>\d+) (?P<name>[^|]+)\| ?(?P<code>.*)")
_SIGN = re.compile(r"<<(\w+)(?::(\d))?>>")
_STEPS = 6


@cache
def _texts() -> Any:
    return yaml.safe_load((FOLDER / "texts.yaml").read_text(encoding="utf-8"))


def address(node: int) -> str:
    """Return the address of a node."""
    return f"10.7.{node}.{17 + node}"


def _framed(line: str) -> Iterator[str]:
    if line == "TB":
        yield "Traceback (most recent call last):"
    elif found := _FRAME.match(line):
        yield '  File "{path}", line {line}, in {name}'.format(**found.groupdict())
        yield f"    {found['code']}"
    else:
        yield line


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the workers of one attempt share: nodes in order, when and which one failed first."""

    name: str
    case: Case
    nodes: tuple[str, ...]
    at: datetime
    first: int


class Writer:
    """Writes the output of one worker. at: when it ended."""

    def __init__(self, attempt: Attempt, worker: int, at: datetime) -> None:
        self._attempt = attempt
        self._case = attempt.case
        self._worker = worker
        self._at = at
        self._digest = int(hashlib.sha256(f"{attempt.name}/{worker}".encode()).hexdigest(), 16)

    def output(self) -> str:
        """Return the whole output."""
        log = self._case.end_of(self._worker).log
        if log.startswith("$"):
            log = _texts()["survivors"][log[1:]]
        return "\n".join([*self._ordinary(), *self._telling(log)]) + "\n"

    def _ordinary(self) -> Iterator[str]:
        case = self._case
        if not case.ran_s:
            return
        dress = _texts()["dresses"][case.dress]
        begun = self._attempt.at - timedelta(seconds=case.ran_s)
        for text in dress["start"]:
            yield self._filled(text, begun + timedelta(seconds=min(2.0, case.ran_s / 2)))
        for back in range(min(_STEPS, case.step or 0), 0, -1):
            at = self._attempt.at - timedelta(seconds=4.1 * back)
            yield self._filled(dress["step"], at, (case.step or 0) - back + 1)

    def _telling(self, log: str) -> Iterator[str]:
        for line in log.rstrip("\n").split("\n") if log else ():
            for text in _framed(line):
                yield self._filled(text, self._at)

    def _filled(self, text: str, at: datetime, step: int = 0) -> str:
        loss = 2 + (self._digest + step) % 977 / 1000
        known = {
            "t": f"{at:%H:%M:%S}",
            "rank": str(self._worker),
            "host": self._attempt.nodes[self._worker],
            "ip": address(self._worker),
            "peer": self._attempt.nodes[self._attempt.first],
            "peerip": address(self._attempt.first),
            "step": str(step),
            "loss": f"{loss:.3f}",
        }
        return _SIGN.sub(
            lambda sign: address(int(sign[2])) if sign[2] else known.get(sign[1], sign[0]), text
        )
