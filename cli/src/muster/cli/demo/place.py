"""Where the demo lives: the checkout with the training program, and a state folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muster.cli.errors import CliError
from muster.cli.session import Session

TRAINING = Path("examples", "training", "train.py")
STATE = ".muster-demo"


@dataclass(frozen=True, slots=True)
class Place:
    """root: the checkout. state: absolute, the same wherever the demo is run from."""

    root: Path
    state: Path

    @property
    def training(self) -> Path:
        """The training program."""
        return self.root / TRAINING


def find_place(session: Session) -> Place:
    """Find the checkout: around this file, else around the working directory. Raises CliError."""
    around = (*Path(__file__).resolve().parents, Path.cwd(), *Path.cwd().parents)
    root = next((folder for folder in around if (folder / TRAINING).is_file()), None)
    if root is None:
        raise CliError("demo_missing", path=Path.cwd() / TRAINING)
    # MUSTER_STATE is not asked: it names a folder that is worked with
    return Place(root, session.state.expanduser().absolute() if session.state else root / STATE)
