"""Everything that must stand before the story begins, and be gone after it.

A chat bot in this process, a Muster in a child process (`muster up`, as everybody runs it), and a
state folder that is the demo's own: a folder without its mark is never deleted.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from muster.cli.connecting import Address
from muster.cli.demo import script
from muster.cli.demo.place import Place
from muster.cli.errors import CliError
from muster.cli.stack.detached import start_up
from muster.cli.stack.folder import StateFolder, Up
from muster.cli.stack.stopping import Ended, stop_all
from muster.cli.texts import language
from muster.notifier.sandbox import HOOK, Bot, Receiver, new_token, serving

MARK = "this-is-a-demo"
KEPT_VARIABLES = ("MUSTER_LANG",)


class Stage:
    """bot: the chat bot. page: where its cards are shown. secret: signs its messages."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.folder = StateFolder(place.state)
        self.secret = secrets.token_hex(16)
        self._token = new_token()
        self.page = ""
        self.bot = Receiver({self._token: Bot(self.secret, limited=True)}, clock=time.time)

    @property
    def address(self) -> Address:
        """Where the demo's Muster is. Raises CliError when its server does not run."""
        url = self.folder.server_url()
        if url is None:
            raise CliError("start_failed", why="nats-server", log=self.folder.log)
        return Address(url, local=self.folder)

    @asynccontextmanager
    async def set_up(self, *, keep: bool) -> AsyncIterator[Up]:
        """Have everything running while the block runs; afterwards nothing, unless it is kept."""
        with only_one(self.folder):
            await self._fresh()
            kept = False
            try:
                async with serving(self.bot) as origin:
                    self.page = f"{origin}/"
                    yield await self._start(origin)
                    kept = keep
            finally:
                if not kept:
                    await stop_all(self.folder, end_workers=True)

    async def _fresh(self) -> None:
        await clear(self.folder)
        self.folder.prepare()
        (self.folder.path / MARK).touch()

    async def _start(self, origin: str) -> Up:
        path = self.folder.path
        webhook, secret = path / "webhook", path / "webhook-secret"
        _private(webhook, f"{origin}{HOOK}{self._token}")
        _private(secret, self.secret)
        nodes, rules = path / "nodes.yaml", path / "rules.yaml"
        _private(nodes, script.nodes_yaml())
        _private(rules, script.rules_yaml(webhook, secret, language()))
        arguments = ["--port", "0", "--nats-port", "0", "--lang", language()]
        arguments += ["--nodes", str(nodes), "--rules", str(rules)]
        environ = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        environ |= {k: os.environ[k] for k in KEPT_VARIABLES if k in os.environ}
        environ["MUSTER_NOTIFIER_EXTRA_ADDRESSES"] = origin
        return await start_up(self.folder, arguments, workdir=self.place.root, environ=environ)


def _private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


@contextmanager
def only_one(folder: StateFolder) -> Iterator[None]:
    """Keep a second demo off the same folder. Raises CliError."""
    lock = folder.path.with_name(f"{folder.path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CliError("demo_runs", state=folder.path) from error
        yield  # the file stays: whoever opened it before it went would hold another lock


async def clear(folder: StateFolder) -> Ended | None:
    """End what an earlier demo left running, and delete its state; None if there was none."""
    if not folder.path.exists():
        return None
    if not (folder.path / MARK).exists() and any(folder.path.iterdir()):
        raise CliError("not_a_demo", state=folder.path)
    ended = await stop_all(folder, end_workers=True)
    shutil.rmtree(folder.path)
    return ended
