"""The catalogue: key -> (English, Chinese). Every text has both; a test makes sure.

Keys are dotted, and begin with the part of the command line that uses them.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.cli.catalogue.demo import DEMO
from muster.cli.catalogue.diagnose import DIAGNOSE
from muster.cli.catalogue.doctor import DOCTOR
from muster.cli.catalogue.errors import ERRORS
from muster.cli.catalogue.faults import FAULTS
from muster.cli.catalogue.files import FILES
from muster.cli.catalogue.hangs import HANGS
from muster.cli.catalogue.help import HELP
from muster.cli.catalogue.incidents import INCIDENTS
from muster.cli.catalogue.jobs import JOBS
from muster.cli.catalogue.notify import NOTIFY
from muster.cli.catalogue.plan import PLAN
from muster.cli.catalogue.replay import REPLAY
from muster.cli.catalogue.simulation import SIMULATION
from muster.cli.catalogue.stability import STABILITY
from muster.cli.catalogue.stack import STACK
from muster.cli.catalogue.usage import USAGE

_PARTS: tuple[Mapping[str, tuple[str, str]], ...] = (
    HELP,
    ERRORS,
    STACK,
    JOBS,
    PLAN,
    FILES,
    DOCTOR,
    DIAGNOSE,
    DEMO,
    SIMULATION,
    REPLAY,
    USAGE,
    STABILITY,
    HANGS,
    FAULTS,
    INCIDENTS,
    NOTIFY,
)

TEXTS: Mapping[str, tuple[str, str]] = {key: pair for part in _PARTS for key, pair in part.items()}
"""Every text."""

if len(TEXTS) != sum(len(part) for part in _PARTS):
    raise RuntimeError("a key stands in two parts of the catalogue")
