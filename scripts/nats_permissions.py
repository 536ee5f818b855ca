"""Writes deploy/nats/permissions.conf: what each service may publish and subscribe on NATS.

Taken from the table of edges and the topology, so that the server refuses what the code must not
do. Called by `make docs`; tests/deploy checks that the file is current and that a server obeys it.

    usage: nats_permissions.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from muster.bus.topology import CONSUMERS, DESKS, Stream
from muster.contracts.subjects import CLOCK, parked_subject
from muster.domain.clock import CLOCK_OWNERS
from muster.domain.deadlines import DEADLINES
from muster.domain.edges import EDGES, Owner
from muster.domain.nodes import NODE_OWNERS
from muster.domain.pools import POOL_FACTS

TARGET = Path(__file__).resolve().parent.parent / "deploy" / "nats" / "permissions.conf"

HEADER = """\
# Least rights of each service. Made by scripts/nats_permissions.py; do not edit.
# Included by accounts.conf, which gives them to users.
"""

# What no table says: facts that are not about one job or node, answers, and lossy traffic.
SAYS: dict[Owner, tuple[str, ...]] = {
    Owner.ADMISSION: ("answers.>", "pools.*.stock.*", "tenants.>", "incidents.*.closed"),
    Owner.SCHEDULER: tuple(f"pools.*.{fact}" for fact in sorted(POOL_FACTS)),
    Owner.EXECUTOR: ("clusters.*.epoch", "pools.*.stock.*", "telemetry.>", "logs.>"),
    Owner.FAULT_TOLERANCE: ("incidents.>", "evidence.>"),
    Owner.GATEWAY: ("requests.>", "queries.>", "faults.>", "judgements.>", "notices.>"),
}
HEARS: dict[Owner, tuple[str, ...]] = {
    Owner.FAULT_TOLERANCE: ("telemetry.>", "logs.>"),
    Owner.GATEWAY: ("telemetry.>", "logs.>", "answers.>", "status.>"),
}
READS: dict[Owner, tuple[Stream, ...]] = {
    Owner.ADMISSION: (Stream.ANSWERS,),
    Owner.GATEWAY: (Stream.ANSWERS, Stream.STATUS, Stream.PARKED),
}
COUNTS: dict[Owner, tuple[Stream, ...]] = {Owner.GATEWAY: tuple(Stream)}  # how full they are
PURGES: dict[Owner, tuple[Stream, ...]] = {Owner.GATEWAY: (Stream.EVENTS,)}  # after `archived`


def main(arguments: list[str]) -> int:
    text = render()
    if arguments == ["--check"]:
        return 0 if TARGET.read_text() == text else 1
    TARGET.write_text(text)
    return 0


def render() -> str:
    blocks = [block(owner, publishes(owner), subscribes(owner)) for owner in Owner]
    return "\n".join([HEADER, *blocks])


def block(owner: Owner, publish: Iterable[str], subscribe: Iterable[str]) -> str:
    # A bare name could be one of the server's own settings, as `gateway` is.
    # Who answers questions may answer each once, wherever the asker wants the answer.
    answers = any(desk.owner is owner for desk in DESKS)
    return (
        f"MAY_{owner.name}: {{\n"
        f"  publish: {{ allow: [\n{listed(publish)}  ] }}\n"
        f"  subscribe: {{ allow: [\n{listed(subscribe)}  ] }}\n"
        + ('  allow_responses: { max: 1, expires: "1m" }\n' if answers else "")
        + "}\n"
    )


def listed(subjects: Iterable[str]) -> str:
    return "".join(f'    "{subject}"\n' for subject in dict.fromkeys(subjects))


def subscribes(owner: Owner) -> Iterable[str]:
    yield f"{inbox_prefix(owner)}.>"
    yield from HEARS.get(owner, ())
    for desk in DESKS:
        if desk.owner is owner:
            yield from (f"{subject} {desk.group}" for subject in desk.subjects)


def inbox_prefix(owner: Owner) -> str:
    """Where answers come: a prefix for each service, so that none reads another's."""
    return f"_INBOX_{owner}"


def publishes(owner: Owner) -> Iterable[str]:
    yield from (f"jobs.*.*.{event}" for event, edge in EDGES.items() if owner in edge.owners)
    yield from (f"pools.*.nodes.*.{event}" for event, own in NODE_OWNERS.items() if owner in own)
    yield from SAYS.get(owner, ())
    if owner in CLOCK_OWNERS:
        yield CLOCK.condition
    if any(deadline.owner is owner for deadline in DEADLINES.values()):
        yield f"timers.{owner}.>"
    yield from (f"$JS.API.STREAM.PURGE.{stream}" for stream in PURGES.get(owner, ()))
    yield "$JS.API.INFO"
    for stream in (Stream.EVENTS, *READS.get(owner, ())):
        yield from reading(stream)
    yield from (f"$JS.API.STREAM.INFO.{stream}" for stream in COUNTS.get(owner, ()))
    yield from consuming(owner)


def reading(stream: Stream) -> Iterable[str]:
    """The last event, at a replica or at the leader, and following in order."""
    yield f"$JS.API.STREAM.INFO.{stream}"
    yield f"$JS.API.DIRECT.GET.{stream}"
    yield f"$JS.API.DIRECT.GET.{stream}.>"
    yield f"$JS.API.STREAM.MSG.GET.{stream}"
    yield f"$JS.API.CONSUMER.CREATE.{stream}.*"
    yield f"$JS.API.CONSUMER.DELETE.{stream}.*"
    yield f"$JS.API.CONSUMER.MSG.NEXT.{stream}.*"


def consuming(owner: Owner) -> Iterable[str]:
    """The service's own durables, their replays, and the place for what it cannot handle."""
    for consumer in CONSUMERS:
        if consumer.owner is owner:
            for stream in (consumer.stream, Stream.REPLAYS):
                place = f"{stream}.{consumer.durable}"
                yield f"$JS.API.CONSUMER.INFO.{place}"
                yield f"$JS.API.CONSUMER.MSG.NEXT.{place}"
                yield f"$JS.ACK.{place}.>"
            yield parked_subject(consumer.stream, consumer.durable)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
