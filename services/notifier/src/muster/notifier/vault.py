"""Keeps webhook addresses and signing keys unreadable at rest: sealed with a key of the operator's.

Fernet: AES-128-CBC with HMAC-SHA256 (https://github.com/fernet/spec). The first key seals, every
key opens, so keys are rotated by putting a new one first. No error and no log of this module holds
a key or what was sealed. Called by the service's start and by whoever keeps addresses.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

from muster.domain.errors import Permanent

KEY_FILE = "notifier.key"
"""In the state folder, where nobody has given a key: for one machine, made at the first start."""


_LENGTH = 44


class NoKey(Permanent):
    """What was given as a key is none, or none of the keys opens what was sealed."""


class Vault:
    """Seals and opens texts. keys: newest first, each 32 bytes as URL-safe base64."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = MultiFernet([_fernet(key, place) for place, key in enumerate(keys, start=1)])

    def seal(self, text: str) -> str:
        """Return the text as it may be stored."""
        return self._keys.encrypt(text.encode()).decode("ascii")

    def open(self, sealed: str) -> str:
        """Return the text. Raises NoKey when no key opens it."""
        try:
            return self._keys.decrypt(sealed.encode()).decode()
        except (InvalidToken, UnicodeError):
            pass
        raise NoKey(
            "no key opens what is stored: give the key that it was sealed with after the newest "
            "in MUSTER_NOTIFIER_KEY "
            "(所给密钥无法解开已存内容：请在 MUSTER_NOTIFIER_KEY 中将原密钥放在新密钥之后)"
        )


def open_vault(key: SecretStr | None, key_file: Path | None, state_dir: Path) -> Vault:
    """Return the vault of the operator's keys, else of this machine's own.

    key: keys separated by commas; key_file: one a line, lines with # aside. Raises NoKey.
    """
    if key is not None:
        return Vault(_split(key.get_secret_value().replace(",", "\n")))
    if key_file is not None:
        return Vault(_split(key_file.read_text(encoding="utf-8")))
    return Vault(_split(_own(state_dir / KEY_FILE)))


def _own(path: Path) -> str:
    """Return this machine's key; of several who make one at the same time, one wins."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        made.touch(mode=0o600)
        made.write_bytes(Fernet.generate_key() + b"\n")
        with suppress(FileExistsError):
            os.link(made, path)
        made.unlink()
    return path.read_text(encoding="ascii")


def _split(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise NoKey(
            "there is no key: MUSTER_NOTIFIER_KEY, or the file of MUSTER_NOTIFIER_KEY_FILE, must "
            "hold one (没有密钥：MUSTER_NOTIFIER_KEY 或 MUSTER_NOTIFIER_KEY_FILE 须至少有一个密钥)"
        )
    return keys


def _fernet(key: str, place: int) -> Fernet:
    if len(key) == _LENGTH:  # what decodes base64 overlooks what follows the padding
        with suppress(ValueError):
            return Fernet(key)
    raise NoKey(
        f"key {place} is none: a key is 32 random bytes as URL-safe base64, 44 characters "
        f"(第 {place} 个密钥无效：须为 32 字节随机数的 URL 安全 base64，共 44 个字符)"
    )
