"""What the server is told, and what the provisioner leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from muster.bus.provision_configs import (
    consumer_config,
    merged_consumer,
    merged_stream,
    replay_consumer,
    stream_config,
)
from muster.bus.topology import CONSUMERS, STREAMS, Stream, StreamSpec

BY_NAME = {spec.name: stream_config(spec, 3) for spec in STREAMS}
SPEC = StreamSpec(Stream.REQUESTS, ("requests.>",), max_age=60, max_bytes=1000, per_subject=5)


def test_only_timers_may_carry_schedules_and_no_stream_rolls_up() -> None:
    assert [name for name, config in BY_NAME.items() if config["allow_msg_schedules"]] == ["TIMERS"]
    assert not any(config.get("allow_rollup_hdrs") for config in BY_NAME.values())


def test_only_the_log_takes_batches_and_it_has_no_limit_that_deletes() -> None:
    assert [name for name, config in BY_NAME.items() if config["allow_atomic"]] == ["EVENTS"]
    log = BY_NAME[Stream.EVENTS]
    assert (log["max_age"], log["max_bytes"], log["max_msgs_per_subject"]) == (0, -1, -1)


def test_a_full_stream_of_requests_refuses_instead_of_forgetting() -> None:
    assert BY_NAME[Stream.REQUESTS]["discard"] == "new"


def test_status_is_sourced_from_the_log() -> None:
    (source,) = BY_NAME[Stream.STATUS]["sources"]
    assert source["name"] == "EVENTS"
    assert source["subject_transforms"][0]["src"] == "jobs.*.*.*"


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.durable)
def test_every_consumer_acknowledges_each_message_and_gives_up_none(consumer: Any) -> None:
    config = consumer_config(consumer)
    assert (config["ack_policy"], config["max_deliver"]) == ("explicit", -1)
    assert config["max_ack_pending"] > consumer.in_flight
    stream, again = replay_consumer(consumer)
    assert (stream, again["name"]) == ("REPLAYS", consumer.durable)
    assert again["filter_subjects"] == [f"replays.{consumer.stream}.{consumer.durable}"]


def test_what_is_as_wanted_changes_nothing() -> None:
    wanted = stream_config(SPEC, 1)
    found = {**wanted, "compression": "none", "metadata": {"x": "y"}}
    assert merged_stream(wanted, found) == (found, [], [])


@pytest.mark.parametrize(
    ("limit", "there"),
    [
        ("max_age", 0),
        ("max_age", 10**18),
        ("max_bytes", -1),
        ("max_bytes", 2000),
        ("max_msgs_per_subject", -1),
        ("max_msgs_per_subject", 6),
        ("num_replicas", 3),
    ],
)
def test_a_looser_limit_stays_and_is_reported(limit: str, there: int) -> None:
    wanted = stream_config(SPEC, 1)
    config, changed, kept = merged_stream(wanted, {**wanted, limit: there})
    assert config[limit] == there
    assert not changed
    assert kept[0].startswith(f"{limit} {there}")


@pytest.mark.parametrize(
    ("limit", "there"), [("max_age", 1), ("max_bytes", 10), ("num_replicas", 1)]
)
def test_a_tighter_limit_is_widened(limit: str, there: int) -> None:
    wanted = stream_config(SPEC, 3)
    config, changed, kept = merged_stream(wanted, {**wanted, limit: there})
    assert config[limit] == wanted[limit]
    assert changed[0].startswith(f"{limit} {there} -> ")
    assert not kept


def test_further_subjects_stay() -> None:
    wanted = stream_config(SPEC, 1)
    config, changed, kept = merged_stream(wanted, {**wanted, "subjects": ["old.>"]})
    assert config["subjects"] == ["requests.>", "old.>"]
    assert changed
    assert kept == ["subjects old.>"]


def test_the_start_of_a_consumer_stays() -> None:
    wanted = consumer_config(CONSUMERS[0])
    config, changed, kept = merged_consumer(wanted, {**wanted, "deliver_policy": "new"})
    assert config["deliver_policy"] == "new"
    assert not changed
    assert kept == ["deliver_policy new"]


def test_one_filter_is_the_same_in_both_spellings() -> None:
    wanted = consumer_config(CONSUMERS[0])
    found = {**wanted, "filter_subject": wanted["filter_subjects"][0]}
    del found["filter_subjects"]
    assert merged_consumer(wanted, found)[1:] == ([], [])
