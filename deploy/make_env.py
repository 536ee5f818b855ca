"""Writes deploy/.env with a random password for each user of the trial. Needs only Python.

An existing file is kept: its passwords are in the databases by then.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent / ".env"
WITH_DATABASE = ("ADMISSION", "FAULT_TOLERANCE", "NOTIFIER", "GATEWAY")
NATS_USERS = (*WITH_DATABASE, "SCHEDULER", "EXECUTOR", "REQUEUE", "OPERATOR", "ACME", "SYSTEM")


def password() -> str:
    """A letter first: nats-server reads a value that looks like a number as one."""
    return f"p{secrets.token_hex(16)}"


def names() -> list[str]:
    nats = [f"MUSTER_{user}_PASSWORD" for user in NATS_USERS]
    databases = [f"MUSTER_{user}_DATABASE_PASSWORD" for user in (*WITH_DATABASE, "ADMIN")]
    return [*nats, *databases, "MUSTER_GATEWAY_TOKEN"]


def main() -> int:
    text = "".join(f"{name}={password()}\n" for name in names())
    try:
        descriptor = os.open(TARGET, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        print(f"{TARGET} is there already and stays as it is", file=sys.stderr)
        return 0
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
