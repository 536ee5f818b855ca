"""The entry of `muster`: chooses the language, runs a command, and turns errors into one line."""

from __future__ import annotations

import os
import sys

from muster.cli import framework, language, texts
from muster.cli.exits import Exit


def main() -> None:
    """Run `sys.argv`. Always ends the process."""
    texts.use(language.chosen(sys.argv[1:], os.environ))
    framework.translate(texts.language())
    # the language must be known before a command is declared, since its help is text
    from muster.cli.root import build  # noqa: PLC0415
    from muster.cli.session import Session  # noqa: PLC0415

    # also known where the arguments cannot be read: the error is then told as it was wanted
    own = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    session = Session(as_json="--json" in own, debug="--debug" in own)
    try:
        ended = build().main(prog_name="muster", obj=session, standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else Exit.DONE)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the one place where the command line ends
        from muster.cli import failures  # noqa: PLC0415 - only on failure

        sys.exit(failures.report(error, session))
