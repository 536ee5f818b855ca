"""The command line as data, for the page of the documentation that is made from it.

Called by `scripts/generate_docs.py`; not used when a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muster.cli.catalogue import TEXTS
from muster.cli.exits import Exit
from muster.cli.lazy import real_command
from muster.cli.root import PANELS

Both = tuple[str, str]


def commands() -> Iterator[tuple[Both, str, Both, list[str]]]:
    """Yield panel, command, what it does, and its own options, in the order of the help."""
    for panel, names in PANELS.items():
        for name in names:
            command = real_command(name)
            leaves = getattr(command, "commands", None) or {"": command}
            for leaf, inner in leaves.items():
                full = f"{name} {leaf}".strip()
                text = TEXTS.get(f"help.{full.replace(' ', '.')}", TEXTS[f"help.{name}"])
                yield TEXTS[panel], full, text, _parameters(inner)


def _parameters(command: Any) -> list[str]:
    """Return the arguments and options of a command; those that all share are left out."""
    shared = {"as_json", "state", "lang", "debug", "wanted"}
    own = [param for param in command.params if param.name not in shared]
    return [_spelled(param) for param in own]


def _spelled(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    return "/".join(sorted(param.opts, key=len))


def exit_codes() -> Iterator[tuple[str, Both]]:
    """Yield each exit code with its meaning."""
    for code in Exit:
        yield str(code.value), TEXTS[f"exit.{code.name.lower()}"]
