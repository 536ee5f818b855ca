"""One bounded POST that tells nobody where it went: for every channel that speaks HTTP.

Redirects are not followed, TLS is verified, the environment's proxies are not used, the reply is
bounded in size and time, and what happened is said without the address: in the outcome, in the log
and in every error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import httpx

from muster.notifier.channels.port import Address
from muster.notifier.channels.redaction import install, quiet
from muster.notifier.core.delivery import Delivery, Fault

Read = Callable[[int, Mapping[str, str], bytes], Delivery]
"""(status, headers with lower-case names, body) -> what the receiver says."""

_MAX_REPLY: Final = 64 * 1024
_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class Post:
    """Sends requests. `timeout` is seconds for one whole request."""

    def __init__(
        self,
        *,
        timeout: float = 10.0,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        install()
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=min(5.0, timeout)),
            follow_redirects=False,
            trust_env=False,
            proxy=proxy,
            transport=transport,
        )

    async def __call__(
        self, address: Address, body: bytes, headers: Mapping[str, str], read: Read
    ) -> Delivery:
        """Send the body once and return what `read` makes of the reply."""
        try:
            with quiet():
                async with asyncio.timeout(self._timeout):
                    return await self._exchange(address, body, headers, read)
        except _NOTHING_SENT as error:
            return Delivery(Fault.UNREACHABLE, "unreachable", type(error).__name__)
        except (httpx.HTTPError, TimeoutError) as error:
            return Delivery(Fault.NO_REPLY, "no_reply", type(error).__name__)
        except httpx.InvalidURL:
            return Delivery(Fault.REFUSED, "address", "the webhook address is not a URL")

    async def close(self) -> None:
        """Close the connections."""
        with quiet():
            await self._client.aclose()

    async def _exchange(
        self, address: Address, body: bytes, headers: Mapping[str, str], read: Read
    ) -> Delivery:
        url = address.url.get_secret_value()
        async with self._client.stream("POST", url, content=body, headers=headers) as response:
            told = bytearray()
            async for chunk in response.aiter_raw():
                told += chunk
                if len(told) > _MAX_REPLY:
                    told.clear()
                    break
            named = {name.lower(): value for name, value in response.headers.items()}
            return read(response.status_code, named, bytes(told))
