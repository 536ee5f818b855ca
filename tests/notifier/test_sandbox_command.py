"""`muster notify sandbox` as a process of its own: what it says, judges and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from muster.notifier.channels.signature import sign

TEXT = {"msg_type": "text", "content": {"text": "训练 hello"}}


@contextmanager
def sandbox(*arguments: str) -> Iterator[dict[str, str]]:
    """The command while the block runs; yields what it says of itself."""
    command = [sys.executable, "-m", "muster.cli", "notify", "sandbox", "--json", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"LANG": "C"})
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.communicate()


def test_it_is_used_from_outside(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("demo\n")
    arguments = ("--port", "0", "--secret-file", str(secret), "--keyword", "训练")
    with sandbox(*arguments) as told, httpx.Client(trust_env=False) as client:
        now = int(time.time())
        signed = {"timestamp": str(now), "sign": sign(now, "demo"), **TEXT}
        assert client.post(told["webhook"], json=TEXT).json()["code"] == 19021
        assert client.post(told["webhook"], json=signed).json()["code"] == 0
        assert "训练 hello" in client.get(told["page"]).text


@pytest.mark.parametrize(
    ("arguments", "says"), [(("--mode", "4711"), "19021"), (("--token", "a/b"), "--token")]
)
def test_what_cannot_be_is_wrong_usage(arguments: tuple[str, ...], says: str) -> None:
    command = [sys.executable, "-m", "muster.cli", "notify", "sandbox", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert says in ended.stderr
