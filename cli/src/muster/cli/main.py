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

    session = Session()
    try:
        build()(prog_name="muster", obj=session)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the one place where the command line ends
        from muster.cli import failures  # noqa: PLC0415 - only on failure

        sys.exit(failures.report(error, session))
