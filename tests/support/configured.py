"""A nats-server with a configuration of the test's own, that can be changed under way."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Self

from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_process import is_healthy
from muster.runtime.ports import LOOPBACK, free_port
from tests.support.eventually import eventually


class ConfiguredServer:
    """config: what stands behind the addresses, e.g. an `authorization` block."""

    def __init__(self, folder: Path, config: str) -> None:
        self._folder, self.config = folder, config
        self.port, self.monitor = free_port(), free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    def url_of(self, user: str, password: str) -> str:
        return f"nats://{user}:{password}@{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.stop()

    async def start(self) -> None:
        file = self._write()
        command = [str(find_binary().path), "-c", file, "-l", str(self._folder / "server.log")]
        self._process = await asyncio.create_subprocess_exec(*command)
        await eventually(lambda: is_healthy(self.monitor))

    async def stop(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    def reload(self, config: str) -> None:
        """The server reads another configuration and lives on, as by `--signal reload`."""
        self.config = config
        self._write()
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGHUP)

    async def restart(self, config: str) -> None:
        await self.stop()
        self.config = config
        await self.start()

    def _write(self) -> str:
        file = self._folder / "server.conf"
        addresses = f'listen: "{LOOPBACK}:{self.port}"\nhttp: "{LOOPBACK}:{self.monitor}"\n'
        file.write_text(addresses + self.config)
        return str(file)


class Authority:
    """Somebody who signs certificates; made by openssl, which is wherever TLS is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.pem"
        self._new("ca", "-x509", "-days", "2", "-subj", "/CN=muster-test")

    def sign(self, host: str, *, days: int = 2) -> str:
        """Return a server's `tls` block. days: negative for a certificate that is over."""
        name = f"{host}-{days}".replace("/", "_")
        self._new(name, "-subj", f"/CN={host}", end=".csr")
        kind = "IP" if host[0].isdigit() else "DNS"
        extension = self._folder / f"{name}.ext"
        extension.write_text(f"subjectAltName={kind}:{host}\n")
        _openssl(
            *("x509", "-req", "-in", self._path(name, ".csr"), "-days", str(days)),
            *("-CA", str(self.certificate), "-CAkey", self._path("ca", ".key")),
            *("-CAcreateserial", "-extfile", str(extension), "-out", self._path(name, ".pem")),
        )
        cert, key = self._path(name, ".pem"), self._path(name, ".key")
        return f'tls {{ cert_file: "{cert}", key_file: "{key}" }}\n'

    def _path(self, name: str, end: str) -> str:
        return str(self._folder / f"{name}{end}")

    def _new(self, name: str, *arguments: str, end: str = ".pem") -> None:
        _openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", self._path(name, ".key"), "-out", self._path(name, end), *arguments),
        )


def _openssl(*arguments: str) -> None:
    binary = shutil.which("openssl")
    assert binary is not None, "these tests make certificates with openssl: install it"
    subprocess.run([binary, *arguments], check=True, capture_output=True)
