"""A notice of reclaim means one instant, whatever happens to the server's clock meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.domain.nodes import NodeCondition, NodeShape, NodeState
from muster.executor.core.notices import Notices
from tests.support.lives import START

HOUR = timedelta(hours=1)


class Offset:
    def __init__(self) -> None:
        self.ahead = timedelta()

    def of_server(self, instant: datetime) -> datetime:
        return instant - self.ahead


def node(**changes: object) -> NodeState:
    fields: dict[str, object] = {
        "pool": "p",
        "node": "n1",
        "cluster": "c",
        "shape": NodeShape(gpus=8, gpu_model="H100", cpus=8, memory_mib=1024),
        "condition": NodeCondition.READY,
        "since": START,
    }
    return NodeState.model_validate(fields | changes)


def test_it_is_read_by_the_worlds_clock_and_keeps_its_meaning() -> None:
    offset = Offset()
    notices = Notices(offset.of_server)
    assert notices.read("n1", None, None) is None
    offset.ahead = HOUR
    assert notices.read("n1", START, None) == START - HOUR
    offset.ahead = -HOUR
    assert notices.read("n1", START, node()) == START - HOUR
    assert notices.read("n2", START, node()) == START + HOUR
    other = START + timedelta(seconds=1)
    assert notices.read("n1", other, node()) == other + HOUR


def test_one_that_was_withdrawn_is_read_anew() -> None:
    offset = Offset()
    notices = Notices(offset.of_server)
    assert notices.read("n1", START, None) == START
    offset.ahead = HOUR
    assert notices.read("n1", None, None) is None
    assert notices.read("n1", START, None) == START - HOUR


@pytest.mark.parametrize(
    "known",
    [
        node(condition=NodeCondition.RECLAIMING, deadline=START),
        node(lapsed=START),
    ],
)
def test_one_that_was_recorded_before_the_step_means_what_was_recorded(known: NodeState) -> None:
    offset = Offset()
    offset.ahead = HOUR
    assert Notices(offset.of_server).read("n1", START, known) == START
