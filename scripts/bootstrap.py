"""Makes .venv ready for `runtime` or `dev`; the Makefile calls it before each target.

Needs a Python 3.11 or newer with pip or ensurepip, and nothing else. When the environment is
already what the pinned requirements and the members' pyproject files ask for, it only compares one
digest. It must not need anything that it installs, and must not touch the system's own packages.

    usage: bootstrap.py runtime|dev
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "muster-ready.json"
PLACE = VENV / "muster-root"
LOCK = ROOT / ".venv.lock"
TOOLS = ROOT / ".tools"
PROFILES = ("runtime", "dev")
HELP = "install pip for it first (Debian, Ubuntu: apt install python3-pip python3-venv)"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in PROFILES:
        return fail("usage: bootstrap.py runtime|dev")
    profile = arguments[0]
    if is_ready(profile):
        return 0
    with locked():
        if is_ready(profile):
            return 0
        try:
            prepare(profile)
        except subprocess.CalledProcessError as error:
            command = " ".join(str(part) for part in error.cmd[:6])
            return fail(f"setting up .venv failed ({command} ...): its own words are above")
        except OSError as error:
            return fail(f"setting up .venv failed: {error}")
    return 0


def fail(message: str) -> int:
    print(f"bootstrap: {message}", file=sys.stderr)
    return 1


def is_ready(profile: str) -> bool:
    """True if `.venv` holds `profile` as the files ask for it now; dev contains runtime."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return False
    held = stamp.get("profile")
    covers = held in ("dev", profile)
    return covers and PYTHON.exists() and stamp.get("digest") == digest(held)


def digest(profile: str) -> str:
    """Everything that decides what is installed, and where: the scripts of .venv hold its path."""
    state = hashlib.sha256(str(ROOT).encode())
    texts = (requirements(name) for name in ("build", "runtime", profile))
    for path in (Path(__file__), *texts, *projects()):
        state.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def requirements(profile: str) -> Path:
    return ROOT / "requirements" / f"{profile}.txt"


def projects() -> list[Path]:
    """The pyproject files of the workspace's members."""
    found = (ROOT / "shared", *sorted((ROOT / "services").iterdir()), ROOT / "cli")
    return [path / "pyproject.toml" for path in found if (path / "pyproject.toml").is_file()]


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One process at a time; a second `make` waits, and then finds the work done."""
    with LOCK.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("bootstrap: another make is setting up .venv, waiting for it", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def prepare(profile: str) -> None:
    began = time.monotonic()
    wanted = digest(profile)
    print(f"bootstrap: setting up .venv for {profile} (once; about a minute)", file=sys.stderr)
    STAMP.unlink(missing_ok=True)
    if not is_usable():
        create()
    PLACE.write_text(str(ROOT))
    pip = find_pip()
    for name in ("build", profile):
        pip_install(pip, "--require-hashes", "--requirement", requirements(name))
    members: list[str | Path] = []
    for project in projects():
        members += ["--editable", project.parent]
    pip_install(pip, "--no-deps", *members)
    write_stamp(profile, wanted)
    print(f"bootstrap: ready in {time.monotonic() - began:.0f} s", file=sys.stderr)


def is_usable() -> bool:
    """False if the environment is of another Python than this one, whose pip fills it, or of
    another place: the commands in its bin/ name their Python by its full path.
    """
    if PLACE.exists() and PLACE.read_text() != str(ROOT):
        return False
    return works(
        [PYTHON, "-c", f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"]
    )


def create() -> None:
    """An empty environment, without pip: that needs no ensurepip, and is quick."""
    if VENV.exists():
        shutil.rmtree(VENV)
    if works([sys.executable, "-m", "venv", "--without-pip", VENV]):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    pip = [sys.executable, "-m", "pip"]
    if not works([*pip, "--version"]):
        raise OSError(f"{sys.executable} has neither venv nor pip: {HELP}")
    # An explicit target is the one place that pip accepts also where the system's are closed to it.
    pinned = ("--require-hashes", "--requirement", requirements("virtualenv"))
    pip_install(pip, "--upgrade", "--target", TOOLS, *pinned)
    run([sys.executable, "-m", "virtualenv", "--quiet", "--no-pip", VENV], PYTHONPATH=str(TOOLS))


def find_pip() -> list[str | Path]:
    """The environment's own pip, else the one of the Python that runs this, else ensurepip's."""
    if works([PYTHON, "-m", "pip", "--version"]):
        return [PYTHON, "-m", "pip"]
    if works([sys.executable, "-m", "pip", "--python", PYTHON, "--version"]):
        return [sys.executable, "-m", "pip", "--python", PYTHON]
    if works([PYTHON, "-m", "ensurepip", "--default-pip"]):
        return [PYTHON, "-m", "pip"]
    raise OSError(f"{sys.executable} has neither pip (22.3 or newer) nor ensurepip: {HELP}")


def pip_install(pip: Sequence[str | Path], *arguments: str | Path) -> None:
    """Builds use what requirements/build.txt pins, never what a build would download."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-warn-script-location")
    run([*pip, "install", *quiet, "--no-build-isolation", *arguments])


def write_stamp(profile: str, wanted: str) -> None:
    half = STAMP.with_suffix(".half")
    half.write_text(json.dumps({"profile": profile, "digest": wanted}))
    half.replace(STAMP)


def works(command: Sequence[str | Path]) -> bool:
    try:
        done = subprocess.run(command, env=environment(), capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def run(command: Sequence[str | Path], **more: str) -> None:
    """Run with the output going to stderr, so that a target's own output stays clean."""
    subprocess.run(command, env=environment() | more, stdout=sys.stderr, check=True)


def environment() -> dict[str, str]:
    """The user's environment without what would send packages elsewhere than into .venv."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "VIRTUAL_ENV"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    ours = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_ROOT_USER_ACTION": "ignore"}
    return kept | ours


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
