"""Identities of a server in operator mode, signed here: credentials that end when a test says."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass

import nkeys


@dataclass(frozen=True, slots=True)
class Signer:
    """One key pair. kind: nkeys.PREFIX_BYTE_OPERATOR, _ACCOUNT or _USER."""

    seed: bytes
    public: str

    @classmethod
    def new(cls, kind: int) -> Signer:
        seed = bytes(nkeys.encode_seed(os.urandom(32), kind))
        return cls(seed, nkeys.from_seed(bytearray(seed)).public_key.decode())

    def token(self, subject: str, nats: dict[str, object], *, until: int | None = None) -> str:
        """Return a signed claim about `subject`. until: seconds of the epoch."""
        claim = {"jti": subject, "iat": 1, "iss": self.public, "name": "test", "sub": subject}
        if until is not None:
            claim["exp"] = until
        parts = [{"typ": "JWT", "alg": "ed25519-nkey"}, claim | {"nats": nats | {"version": 2}}]
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        signature = nkeys.from_seed(bytearray(self.seed)).sign(text.encode())
        return f"{text}.{_encoded(signature)}"


class Realm:
    """An operator with one account. config: of the server that trusts them."""

    def __init__(self) -> None:
        operator = Signer.new(nkeys.PREFIX_BYTE_OPERATOR)
        self._account = Signer.new(nkeys.PREFIX_BYTE_ACCOUNT)
        limits = dict.fromkeys(
            ("subs", "conn", "leaf", "imports", "exports", "data", "payload"), -1
        )
        account = operator.token(
            self._account.public, {"type": "account", "limits": limits | {"wildcards": True}}
        )
        self.config = (
            f"operator: {operator.token(operator.public, {'type': 'operator'})}\n"
            f"resolver: MEMORY\nresolver_preload: {{ {self._account.public}: {account} }}\n"
        )

    def credentials(self, until: int | None) -> str:
        """Return the text of a .creds file."""
        user = Signer.new(nkeys.PREFIX_BYTE_USER)
        claim: dict[str, object] = {"type": "user", "subs": -1, "data": -1, "payload": -1}
        token = self._account.token(user.public, claim, until=until)
        parts = (("NATS USER JWT", token), ("USER NKEY SEED", user.seed.decode()))
        return "\n".join(
            f"-----BEGIN {name}-----\n{value}\n------END {name}------\n" for name, value in parts
        )


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
