"""The signature of a Feishu custom bot. Pure; used by the channel and by the local receiver."""

from __future__ import annotations

import base64
import hashlib
import hmac


def sign(timestamp: int, secret: str) -> str:
    """Return the signature for `timestamp` (whole seconds since the epoch).

    The time and the secret together are the key and the message is empty. The secret is stripped:
    one that was read from a file often ends with a newline, which would change every signature.
    """
    key = f"{timestamp}\n{secret.strip()}".encode()
    return base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode("ascii")
