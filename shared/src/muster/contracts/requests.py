"""What outside systems may ask for, and the short answer that each request gets.

A request is an envelope of type `muster.request.<verb>.v1` on `requests.<tenant>.<verb>`; its id is
the request's identity: told twice, it is carried out once. The answer appears on
`answers.<tenant>.<request id>`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.model import TOKEN_PATTERN, Frozen, Instant, Strict, Token
from muster.domain.spec import NodePolicySpec
from muster.domain.violations import Violation

REQUEST_ID = re.compile(TOKEN_PATTERN)


def _printable(text: str) -> str:
    """Names are shown in terminals, pages and cards: nothing in them may steer one."""
    if not text.isprintable():
        raise PydanticCustomError("not_printable", "Input should hold printable characters only")
    return text


class Request(Strict):
    """Base of all requests. user: on whose behalf."""

    verb: ClassVar[str]
    version: ClassVar[int] = 1
    user: Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]


class Submit(Request):
    """Run this job. spec: the specification, checked field by field by admission."""

    verb: ClassVar[str] = "submit"
    spec: Mapping[str, Any]


class JobRequest(Request):
    """Base of requests about one job."""

    job: Token


class Stop(JobRequest):
    """End the job, in whatever phase it is."""

    verb: ClassVar[str] = "stop"


class Resume(JobRequest):
    """Queue a parked job again, with other limits when they are given."""

    verb: ClassVar[str] = "resume"
    auto_queue: AutoQueueSpec | None = None


class Respecify(JobRequest):
    """Change limits or node policy of a waiting job."""

    verb: ClassVar[str] = "respecify"
    auto_queue: AutoQueueSpec | None = None
    node_policy: NodePolicySpec | None = None


class Prioritise(JobRequest):
    """Another priority."""

    verb: ClassVar[str] = "prioritise"
    priority: Literal["low", "normal", "high"] | Annotated[int, Field(ge=1, le=99)]


class Debug(JobRequest):
    """Run a new job with the same resources that only waits, to look inside; linked to this one.

    The answer names the new job. It is the requester's, without auto-queue and fault tolerance.
    """

    verb: ClassVar[str] = "debug"


class Relabel(JobRequest):
    """The whole new set of labels."""

    verb: ClassVar[str] = "relabel"
    labels: Mapping[str, str]


class NodeRequest(Request):
    """Base of requests about one node, for operators."""

    pool: Token = "default"
    node: Annotated[str, Field(min_length=1, max_length=253)]


class ReclaimNode(NodeRequest):
    """The node will be taken away in notice_s seconds: what a cloud's notice says."""

    verb: ClassVar[str] = "reclaim_node"
    notice_s: Annotated[int, Field(ge=0, le=86400)] = 30


class CordonNode(NodeRequest):
    """No new work on the node."""

    verb: ClassVar[str] = "cordon_node"


class UncordonNode(NodeRequest):
    """New work is welcome again."""

    verb: ClassVar[str] = "uncordon_node"


class DrainNode(NodeRequest):
    """No new work, and what runs there leaves without using up its requeues."""

    verb: ClassVar[str] = "drain_node"


class FenceNode(NodeRequest):
    """A person's word that nothing runs on the node any more."""

    verb: ClassVar[str] = "fence_node"


class SetStock(Request):
    """What spot jobs may hold of a GPU model in a zone from now on; no gpus = no longer offered.

    notice_s: how long whatever is held above it may stay. price, currency, network: as they were
    when the request does not name them, none when it names null.
    """

    verb: ClassVar[str] = "set_stock"
    pool: Token = "default"
    zone: Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]
    gpu_model: Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]
    gpus: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    notice_s: Annotated[int, Field(ge=0, le=86400)] = 30
    price: Annotated[float, Field(ge=0)] | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    network: Annotated[str, Field(max_length=128), AfterValidator(_printable)] | None = None


class CloseIncident(Request):
    """A person's word that an incident is over: what waited for its end goes on."""

    verb: ClassVar[str] = "close_incident"
    incident: Token


class TenantRequest(Request):
    """Base of requests about one tenant, for operators."""

    tenant: Token


class WantedShare(Strict):
    """A tenant's part of a pool in GPUs of one model: its guaranteed share, and its ceiling."""

    pool: Token = "default"
    gpu_model: Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]
    guaranteed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    ceiling: Annotated[int, Field(ge=0, le=1_000_000)] | None = None


class SetQuota(TenantRequest):
    """These shares from now on. whole: and no others; else those of other models stay."""

    verb: ClassVar[str] = "set_quota"
    shares: Annotated[tuple[WantedShare, ...], Field(max_length=1000)] = ()
    whole: bool = False


NodeName = Annotated[str, Field(min_length=1, max_length=253), AfterValidator(_printable)]


class SetBlocklist(TenantRequest):
    """Nodes that the tenant's jobs stay off from now on, or may use again.

    only_user: the list is that user's alone, not the whole tenant's.
    """

    verb: ClassVar[str] = "set_blocklist"
    pool: Token = "default"
    only_user: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    add: Annotated[tuple[NodeName, ...], Field(max_length=10_000)] = ()
    remove: Annotated[tuple[NodeName, ...], Field(max_length=10_000)] = ()


class SetSpot(TenantRequest):
    """Whether the tenant may use spot capacity from now on. pool: only there; None = everywhere."""

    verb: ClassVar[str] = "set_spot"
    enabled: bool
    pool: Token | None = None


_BASES: tuple[type[Request], ...] = (Request, JobRequest, NodeRequest, TenantRequest)

REQUESTS: dict[str, type[Request]] = {
    request.verb: request
    for base in _BASES
    for request in base.__subclasses__()
    if request not in _BASES
}
"""verb -> model."""


class Answer(Frozen):
    """What became of a request. accepted: it was carried out (now or before)."""

    request: str
    tenant: str
    verb: str
    accepted: bool
    job: str | None = None
    phase: str | None = None
    violations: tuple[Violation, ...] = ()
    at: Instant


class RequestHead(Frozen):
    """The outer fields of a request's envelope; `data` is judged separately."""

    specversion: Literal["1.0"]
    id: Token
    source: str
    type: str
    subject: str | None = None
    time: Instant | None = None
    datacontenttype: Literal["application/json"] = "application/json"
    traceparent: str | None = None
    data: Any


def request_type(verb: str, version: int = 1) -> str:
    """Return the CloudEvents type of a request."""
    return f"muster.request.{verb}.v{version}"


def job_id(tenant: str, request: str) -> str:
    """The id of the job that a submit or debug request creates: the same request, the same job."""
    digest = hashlib.sha256(f"{tenant}/{request}".encode()).hexdigest()
    return f"j{digest[:19]}"
