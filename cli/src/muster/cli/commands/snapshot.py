"""`muster snapshot`: a pool as the log tells of it, in a file that can be asked again later.

Reads the log by itself: works, and is most wanted, when no scheduler answers.
"""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli.errors import CliError
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.scheduler.cycle import stills
from muster.scheduler.cycle.fold import Fold
from muster.scheduler.stream import FILTERS

app = typer.Typer(add_completion=False)


@app.command(help=say("help.snapshot"))
def snapshot(
    context: typer.Context,
    pool: Annotated[str, typer.Argument(help=say("argument.pool"), metavar="POOL")] = "default",
) -> None:
    """Print it; the shell puts it into a file."""
    print(run(_snapshot(session_of(context), pool)))


async def _snapshot(session: Session, pool: str) -> str:
    fold = Fold(frozenset({pool}))
    position = 0
    async with reach(session) as muster:
        async for item in muster.events(FILTERS):
            fold.take(item)
            position = item.seq
        now = await muster.now()
    if pool not in fold.pools:
        raise CliError("no_pool", pool=pool)
    return stills.dump(fold.pools[pool].snapshot(now, position, None, frozenset()))
