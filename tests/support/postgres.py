"""A PostgreSQL for tests: the one that is named, else an installed one, else a container."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from muster.runtime.ports import LOOPBACK, free_port

VARIABLE = "MUSTER_TEST_POSTGRES"
MISSING = f"no PostgreSQL: install it or set {VARIABLE}"
USER = "muster"

# Tests lose nothing in a crash of the machine, and a sync costs more than all the rest.
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def find_server(stack: ExitStack) -> str | None:
    """The URL of a server where databases may be made; what was started ends with the stack."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    programs = _programs()
    if programs is not None:
        return stack.enter_context(_local_server(programs))
    from tests.support.containers import postgres_container  # slow to import, and seldom needed

    return postgres_container(stack)


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """A database of its own for one test; dropped afterwards, whoever is still connected."""
    name = sql.Identifier(database := f"muster_test_{uuid.uuid4().hex}")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{database}"))
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def _programs() -> Path | None:
    """The folder with the newest installed `initdb` and `postgres`."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).parent] if on_path else []
    for pattern in (
        "usr/lib/postgresql/*/bin",
        "usr/pgsql-*/bin",
        "opt/homebrew/opt/postgresql*/bin",
    ):
        places += sorted(Path("/").glob(pattern), key=_version, reverse=True)
    complete = (
        place for place in places if (place / "initdb").exists() and (place / "postgres").exists()
    )
    return next(complete, None)


def _version(place: Path) -> int:
    digits = "".join(char for char in place.parent.name if char.isdigit())
    return int(digits or 0)


@contextmanager
def _local_server(programs: Path) -> Iterator[str]:
    """A private server on loopback. PostgreSQL refuses to run as root, so root lends it a user."""
    as_user = _unprivileged()
    home = Path(tempfile.mkdtemp(prefix="muster-postgres-"))
    try:
        if as_user:
            shutil.chown(home, as_user["user"], as_user["group"])
        password, port = secrets.token_urlsafe(16), free_port()
        _init(programs, home, password, as_user)
        with _running(programs, home, port, as_user):
            yield f"postgresql://{USER}:{password}@{LOOPBACK}:{port}/postgres"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _unprivileged() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return {}


def _init(programs: Path, home: Path, password: str, as_user: dict[str, Any]) -> None:
    secret = home / "password"
    secret.write_text(password)
    if as_user:
        shutil.chown(secret, as_user["user"], as_user["group"])
    options = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
    initdb = [programs / "initdb", "-D", home / "data", "-U", USER, "--pwfile", secret, *options]
    subprocess.run(
        [str(part) for part in initdb], cwd=home, check=True, capture_output=True, **as_user
    )


@contextmanager
def _running(programs: Path, home: Path, port: int, as_user: dict[str, Any]) -> Iterator[None]:
    settings = [
        f"listen_addresses={LOOPBACK}",
        f"port={port}",
        f"unix_socket_directories={home}",
        *_FAST,
    ]
    options = " ".join(f"-c {setting}" for setting in settings)
    control = [str(programs / "pg_ctl"), "-D", str(home / "data"), "-w", "-t", "60"]
    start = [*control, "-l", str(home / "log"), "-o", options, "start"]
    subprocess.run(start, cwd=home, check=True, stdout=subprocess.DEVNULL, **as_user)
    try:
        yield
    finally:
        stop = [*control, "-m", "immediate", "stop"]
        subprocess.run(stop, cwd=home, check=True, stdout=subprocess.DEVNULL, **as_user)
