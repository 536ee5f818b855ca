"""What the server is told about each stream and consumer, and how it is merged with what is there.

Pure: configurations in the shape of the JetStream API in and out. Called by `provision`.
"""

from __future__ import annotations

from typing import Any

from muster.bus.topology import Consumer, Stream, StreamSpec

Config = dict[str, Any]

NANOSECONDS = 1_000_000_000
PENDING_PER_HANDLER = 64
REPLAYS_IN_FLIGHT = 4

_LIMITS = ("max_age", "max_bytes", "max_msgs_per_subject", "max_msg_size")
"""Fields where a smaller number may delete something; 0 and -1 mean no limit."""


def stream_config(spec: StreamSpec, replicas: int) -> Config:
    """Return the configuration of a stream."""
    config: Config = {
        "name": spec.name.value,
        "description": spec.description,
        "subjects": list(spec.subjects),
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "max_age": int(spec.max_age * NANOSECONDS),
        "max_bytes": spec.max_bytes or -1,
        "max_msg_size": spec.max_message or -1,
        "max_msgs_per_subject": spec.per_subject or -1,
        # A full stream tells its publishers; it does not forget what nobody has read yet.
        "discard": "new" if spec.max_bytes else "old",
        "duplicate_window": int(spec.duplicate_window * NANOSECONDS),
        "allow_direct": True,
        "deny_delete": spec.deny_delete,
        "allow_atomic": spec.atomic,
        "allow_msg_schedules": spec.schedules,
        "allow_msg_ttl": spec.schedules,
    }
    if spec.source is not None:
        stream, src, dest = spec.source
        transform = {"src": src, "dest": dest}
        config["sources"] = [{"name": stream.value, "subject_transforms": [transform]}]
    if spec.republish is not None:
        src, dest = spec.republish
        config["republish"] = {"src": src, "dest": dest}
    return config


def consumer_config(consumer: Consumer) -> Config:
    """Return the configuration of a durable consumer.

    max_ack_pending is no bound on handlers: that is `in_flight`, kept by each replica, which pulls
    only what it has room for. It counts what waits for its next try as well, so it leaves room for
    many of those: messages that wait for a database must not hold up the others.
    """
    return {
        "name": consumer.durable,
        "durable_name": consumer.durable,
        "description": f"{consumer.owner} on {consumer.stream}",
        "deliver_policy": "new" if consumer.new_only else "all",
        "ack_policy": "explicit",
        "ack_wait": int(consumer.ack_wait * NANOSECONDS),
        "max_deliver": -1,
        "max_ack_pending": consumer.in_flight * PENDING_PER_HANDLER,
        "replay_policy": "instant",
        "filter_subjects": list(consumer.filters),
    }


def replay_consumer(consumer: Consumer) -> tuple[str, Config]:
    """Return the stream and the configuration of the consumer for its replayed messages."""
    config = consumer_config(consumer) | {
        "description": f"{consumer.durable}, parked messages again",
        "deliver_policy": "all",
        "max_ack_pending": REPLAYS_IN_FLIGHT * PENDING_PER_HANDLER,
        "filter_subjects": [consumer.replays],
    }
    return Stream.REPLAYS.value, config


def merged_stream(wanted: Config, found: Config) -> tuple[Config, list[str], list[str]]:
    """Return the configuration to set, what changes by it, and what is kept against our wish."""
    config, kept = dict(wanted), []
    for limit in _LIMITS:
        if _is_looser(found.get(limit), wanted[limit]):
            config[limit] = found[limit]
            kept.append(f"{limit} {found.get(limit)} (not {wanted[limit]})")
    if found.get("num_replicas", 1) > wanted["num_replicas"]:
        config["num_replicas"] = found["num_replicas"]
        kept.append(f"num_replicas {found['num_replicas']} (not {wanted['num_replicas']})")
    further = [name for name in found.get("subjects") or [] if name not in wanted["subjects"]]
    if further:
        config["subjects"] = [*wanted["subjects"], *further]
        kept.append(f"subjects {' '.join(further)}")
    return _merged(config, found, kept)


def merged_consumer(wanted: Config, found: Config) -> tuple[Config, list[str], list[str]]:
    """As `merged_stream`. Where a consumer starts cannot be changed once it is there."""
    config, kept = dict(wanted), []
    if found.get("deliver_policy", "all") != wanted["deliver_policy"]:
        config["deliver_policy"] = found.get("deliver_policy", "all")
        kept.append(f"deliver_policy {found.get('deliver_policy')}")
    if "filter_subject" in found:
        found = {**found, "filter_subjects": [found["filter_subject"]]}
        del found["filter_subject"]
    return _merged(config, found, kept)


def _merged(config: Config, found: Config, kept: list[str]) -> tuple[Config, list[str], list[str]]:
    changed = [
        f"{name} {found.get(name)} -> {value}"
        for name, value in config.items()
        if not _is_same(value, found.get(name))
    ]
    return {**found, **config}, changed, kept


def _is_looser(found: int | None, wanted: int) -> bool:
    """Tell whether going from `found` to `wanted` might delete something."""
    if wanted <= 0:
        return False
    return found is None or found <= 0 or found > wanted


def _is_same(wanted: Any, found: Any) -> bool:
    """Compare as the server does: absent is empty, lists of subjects have no order."""
    if isinstance(wanted, list) and all(isinstance(each, str) for each in wanted):
        return sorted(wanted) == sorted(found or [])
    if isinstance(wanted, list):
        return len(wanted) == len(found or []) and all(map(_is_same, wanted, found or []))
    if isinstance(wanted, dict):
        return all(_is_same(value, (found or {}).get(name)) for name, value in wanted.items())
    return wanted == found or (not wanted and not found)
