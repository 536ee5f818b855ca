"""Questions of commands to fault tolerance, and what is said where nobody answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muster.bus import NobodyAnswers
from muster.cli.errors import CliError
from muster.cli.exits import Exit


@contextmanager
def fault_tolerance_answers() -> Iterator[None]:
    """Turn silence into an error that says what to do. Raises CliError."""
    try:
        yield
    except NobodyAnswers as error:
        seconds = f"{error.seconds:.1f}"
        raise CliError("no_fault_tolerance", Exit.UNREACHABLE, seconds=seconds) from error
