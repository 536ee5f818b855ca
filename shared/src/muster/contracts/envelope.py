"""The CloudEvents 1.0 envelope (structured JSON) that every message of Muster travels in.

Source: the CloudEvents specification 1.0.2 and its NATS binding. `traceparent` is the distributed
tracing extension.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from muster.domain.model import Frozen, Instant

CONTENT_TYPE = "application/cloudevents+json"

D_co = TypeVar("D_co", covariant=True)


class Envelope(Frozen, Generic[D_co]):
    """One message. subject: the subject it is published on. time: when it was decided."""

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str
    type: str
    subject: str
    time: Instant
    datacontenttype: Literal["application/json"] = "application/json"
    traceparent: str | None = None
    data: D_co

    def to_bytes(self) -> bytes:
        """Return the UTF-8 JSON of the message; absent fields are left out."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)
