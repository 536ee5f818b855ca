"""Subjects and condition filters, built and parsed in one place.

A condition on append protects only writers that name the identical filter string, so nobody else
may write one; a guard test looks for any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from muster.domain.errors import Permanent
from muster.domain.model import TOKEN_PATTERN

_TOKEN = re.compile(TOKEN_PATTERN)
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")

ALL_JOBS = "jobs.>"
ALL_POOLS = "pools.>"
ALL_NODES = "pools.*.nodes.>"
ALL_STOCK = "pools.*.stock.*"
ALL_TENANTS = "tenants.>"
ALL_DECIDED = "pools.*.decided"
ALL_REQUESTS = "requests.>"
ALL_QUERIES = "queries.>"
ALL_EVIDENCE = "evidence.>"
ALL_FAULTS = "faults.>"
ALL_INCIDENTS = "incidents.>"
ALL_EXCLUSIONS = "pools.*.nodes.*.excluded"
ALL_JUDGEMENTS = "judgements.>"
ALL_NOTICES = "notices.>"
ALL_STATUS = "status.>"
ALL_LOGS = "logs.>"
ALL_TELEMETRY = "telemetry.>"
STATUS_SOURCE, STATUS_TARGET = "jobs.*.*.*", "status.{{wildcard(1)}}.{{wildcard(2)}}"


class BadSubject(Permanent):
    """A name cannot be, or is not, a token of a subject."""


def token(value: str) -> str:
    """Return `value` when it can stand in a subject. Raises BadSubject."""
    if not _TOKEN.fullmatch(value):
        raise BadSubject(f"{value!r} is not a token: 1-128 of A-Z a-z 0-9 _ -")
    return value


def escape(name: str) -> str:
    """Turn any name (a node's, say) into a token, reversibly: other bytes become _xx in hex.

    Raises BadSubject for a name that is empty or no text.
    """
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise BadSubject(f"{name!r} is no text") from error
    if not raw:
        raise BadSubject("an empty name cannot stand in a subject")
    return "".join(chr(byte) if byte in _PLAIN else f"_{byte:02x}" for byte in raw)


def unescape(text: str) -> str:
    """Return the name that `escape` made the token from. Raises BadSubject for any other text."""
    try:
        raw = re.sub(rb"_([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())
        name = raw.decode()
    except UnicodeError as error:
        raise BadSubject(f"{text!r} is not an escaped name") from error
    if escape(name) != text:  # two subjects must never mean one name
        raise BadSubject(f"{text!r} is not an escaped name")
    return name


@dataclass(frozen=True, slots=True)
class Key:
    """What a write is conditioned on: everything under a prefix, or one subject alone."""

    prefix: str
    whole: bool = True

    @property
    def condition(self) -> str:
        """The one filter string for `Nats-Expected-Last-Subject-Sequence-Subject`."""
        return f"{self.prefix}.>" if self.whole else self.prefix

    def subject(self, event: str) -> str:
        """The subject of an event of this key."""
        return f"{self.prefix}.{event}" if self.whole else self.prefix


def job_key(tenant: str, job: str) -> Key:
    """The key of one job."""
    return Key(f"jobs.{token(tenant)}.{token(job)}")


def node_key(pool: str, node: str) -> Key:
    """The key of one node."""
    return Key(f"pools.{token(pool)}.nodes.{escape(node)}")


def pool_key(pool: str, event: str) -> Key:
    """The key of one kind of fact about a pool (epoch, decided, summary): its subject alone."""
    return Key(f"pools.{token(pool)}.{event}", whole=False)


def stock_key(pool: str, item: str) -> Key:
    """The key of one item of a pool's spot stock: its subject alone."""
    return Key(f"pools.{token(pool)}.stock.{escape(item)}", whole=False)


def cluster_key(cluster: str, event: str) -> Key:
    """The key of one kind of fact about a cluster: its subject alone."""
    return Key(f"clusters.{token(cluster)}.{event}", whole=False)


THE_LOG = "log"
"""Stands for the whole log where a cluster's name would."""

CLOCK = cluster_key(THE_LOG, "clock")
"""The key of what is agreed on the server's clock."""


def tenant_key(tenant: str, event: str) -> Key:
    """The key of one kind of fact about a tenant: its subject alone."""
    return Key(f"tenants.{token(tenant)}.{event}", whole=False)


def incident_key(incident: str) -> Key:
    """The key of the incidents with one cause."""
    return Key(f"incidents.{token(incident)}")


def judgement_subject(kind: str) -> str:
    """Where fault tolerance is asked what it knows of nodes and failures."""
    return f"judgements.{token(kind)}"


def notice_subject(tenant: str, kind: str) -> str:
    """Where the notifier is asked about a tenant's rules and what became of them."""
    return f"notices.{token(tenant)}.{token(kind)}"


def request_subject(tenant: str, verb: str) -> str:
    """Where a request is published."""
    return f"requests.{token(tenant)}.{token(verb)}"


def answer_subject(tenant: str, request: str) -> str:
    """Where the answer to a request appears."""
    return f"answers.{token(tenant)}.{token(request)}"


def query_subject(pool: str, kind: str) -> str:
    """Where a question about the plan of a pool is asked."""
    return f"queries.{token(pool)}.{token(kind)}"


def queries_pattern(pool: str) -> str:
    """Every question about a pool."""
    return f"queries.{token(pool)}.*"


def evidence_subject(pool: str, kind: str) -> str:
    """Where an executor is asked what it sees of a pool's jobs."""
    return f"evidence.{token(pool)}.{token(kind)}"


def evidence_pattern(pool: str) -> str:
    """Every question to the executor of a pool."""
    return f"evidence.{token(pool)}.*"


def fault_subject(pool: str, kind: str) -> str:
    """Where fault tolerance is asked what it makes of a pool's jobs."""
    return f"faults.{token(pool)}.{token(kind)}"


def status_subject(tenant: str, job: str) -> str:
    """Where the current state of a job is kept."""
    return f"status.{token(tenant)}.{token(job)}"


def status_pattern(tenant: str | None = None, job: str | None = None) -> str:
    """The states of one job, of a tenant's jobs, or of all."""
    return f"status.{_or_any(tenant)}.{_or_any(job)}"


def _or_any(name: str | None) -> str:
    return "*" if name is None else token(name)


def logs_subject(tenant: str, job: str, worker: str) -> str:
    """Where a worker's lines of output go, unreliable on purpose."""
    return f"logs.{token(tenant)}.{token(job)}.{escape(worker)}"


def logs_pattern(tenant: str, job: str, worker: str | None = None) -> str:
    """The output of one worker, or of all of a job."""
    return f"logs.{token(tenant)}.{token(job)}." + (escape(worker) if worker else "*")


def nodes_pattern(pool: str | None = None) -> str:
    """Every fact about the nodes of a pool, or of all."""
    return ALL_NODES if pool is None else f"pools.{token(pool)}.nodes.>"


def tenants_pattern(tenant: str | None = None) -> str:
    """Every fact about a tenant, or about all."""
    return f"tenants.{_or_any(tenant)}.*"


def stock_pattern(pool: str | None = None) -> str:
    """Every item of spot stock of a pool, or of all."""
    return ALL_STOCK if pool is None else f"pools.{token(pool)}.stock.*"


def timer_subject(owner: str, kind: str, tenant: str, job: str) -> str:
    """Where an alarm waits. One alarm per kind and job: a new one replaces the old."""
    return f"timers.{token(owner)}.{token(kind)}.{token(tenant)}.{token(job)}"


def alarm_subject(owner: str, kind: str, tenant: str, job: str) -> str:
    """Where the alarm rings."""
    return f"alarms.{token(owner)}.{token(kind)}.{token(tenant)}.{token(job)}"


def parked_subject(stream: str, consumer: str) -> str:
    """Where a message that nobody can handle is parked."""
    return f"parked.{token(stream)}.{token(consumer)}"


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed subject. kind: job, node, stock, pool, cluster, tenant, incident, request.

    names: what the key is made of.
    """

    kind: str
    names: tuple[str, ...]
    event: str

    @property
    def key(self) -> Key:
        """The key that this subject belongs to."""
        match self.kind:
            case "job":
                return job_key(*self.names)
            case "node":
                return node_key(*self.names)
            case "stock":
                return stock_key(*self.names)
            case "pool":
                return pool_key(self.names[0], self.event)
            case "incident":
                return incident_key(self.names[0])
            case "tenant":
                return tenant_key(self.names[0], self.event)
            case _:
                return cluster_key(self.names[0], self.event)


_ASKED = {"queries": "query", "evidence": "evidence", "faults": "fault"}
"""First token of a question's subject -> its kind."""


def parse(subject: str) -> Address:
    """Read a subject. Raises BadSubject for any that Muster does not use."""
    match subject.split("."):
        case ["jobs", tenant, job, event]:
            return Address("job", (token(tenant), token(job)), token(event))
        case ["pools", pool, "nodes", node, event]:
            return Address("node", (token(pool), unescape(node)), token(event))
        case ["pools", pool, "stock", item]:
            return Address("stock", (token(pool), unescape(item)), "changed")
        case ["pools", pool, event]:
            return Address("pool", (token(pool),), token(event))
        case ["clusters", cluster, event]:
            return Address("cluster", (token(cluster),), token(event))
        case ["tenants", tenant, event]:
            return Address("tenant", (token(tenant),), token(event))
        case ["incidents", incident, event]:
            return Address("incident", (token(incident),), token(event))
    return _parse_asked(subject)


def _parse_asked(subject: str) -> Address:
    """Requests and questions."""
    match subject.split("."):
        case ["requests", tenant, verb]:
            return Address("request", (token(tenant),), token(verb))
        case ["queries" | "evidence" | "faults" as asked, pool, kind]:
            return Address(_ASKED[asked], (token(pool),), token(kind))
        case ["notices", tenant, kind]:
            return Address("notice", (token(tenant),), token(kind))
        case ["judgements", kind]:
            return Address("judgement", (), token(kind))
    raise BadSubject(f"no meaning for subject {subject!r}")
