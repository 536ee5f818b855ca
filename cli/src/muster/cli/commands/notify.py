"""`muster notify ...`: who is told what, whether it gets through, and when to keep quiet."""

from __future__ import annotations

from collections.abc import Callable

import typer

from muster.cli.commands import notify_ledger as ledger
from muster.cli.commands import notify_rules as rules
from muster.cli.commands import notify_sandbox as rehearsal
from muster.cli.commands import notify_silences as silences
from muster.cli.texts import say

app = typer.Typer(add_completion=False, help=say("help.notify"), no_args_is_help=True)

VERBS: dict[str, Callable[..., None]] = {
    "rules": rules.rules,
    "add": rules.add,
    "show": rules.show,
    "pause": rules.pause,
    "resume": rules.resume,
    "remove": rules.remove,
    "test": rules.test,
    "deliveries": ledger.deliveries,
    "replay": ledger.replay,
    "silence": silences.silence,
    "silences": silences.silences,
    "unsilence": silences.unsilence,
    "health": ledger.health,
    "rotate": ledger.rotate,
    "sandbox": rehearsal.sandbox,
}
"""Name -> what it does, in the order of the help."""

for name, verb in VERBS.items():
    app.command(name, help=say(f"help.notify.{name}"))(verb)
