"""The wish to stop: SIGTERM, Ctrl-C, or the appearance of the file named by MUSTER_STOP_FILE.

It only says whether somebody asked. When to stop is the gang's decision, because all ranks must
stop after the same step. `train.py` makes one, and hands `asked` to whatever waits.
"""

import signal
from datetime import datetime
from pathlib import Path
from types import FrameType


class Stopped(Exception):
    """Asked to stop before the first step: there is nothing to save."""


class StopRequest:
    """Remembers the first signal, and looks for the file each time it is asked."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._signal: int | None = None

    def listen(self) -> None:
        """Take over the two signals; the default would end the process in the middle of a step."""
        signal.signal(signal.SIGTERM, self._remember)
        signal.signal(signal.SIGINT, self._remember)

    def asked(self) -> bool:
        return self._signal is not None or (self._file is not None and self._file.exists())

    @property
    def reason(self) -> str:
        """Who asked, in one word; a rank that was not asked itself was told by its gang."""
        if self._signal is not None:
            return signal.Signals(self._signal).name
        return "stop-file" if self.asked() else "gang"

    @property
    def deadline(self) -> datetime | None:
        """When this process will be killed. The file is there before the signal, and may be written
        anew with a nearer time; None where nobody wrote one."""
        try:
            return datetime.fromisoformat(self._file.read_text().strip()) if self._file else None
        except (OSError, ValueError):
            return None

    @property
    def exit_code(self) -> int:
        """As a shell reports a process that a signal ended: 143 for SIGTERM and for the file."""
        return 128 + (self._signal or signal.SIGTERM)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self._signal = self._signal or number
