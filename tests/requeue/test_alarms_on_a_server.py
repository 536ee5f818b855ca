"""Alarms that ring while their server is killed: every queueing ends, each of them once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.alarms_run import Size, run

OUTSTANDING = 2000


@pytest.mark.slow
async def test_none_is_lost_and_no_ring_too_many_counts(tmp_path: Path) -> None:
    outcome = await run(Size(OUTSTANDING, lead=12, span=8), tmp_path)
    assert outcome.kills == 2
    assert len(outcome.ended.late) == outcome.ended.events == OUTSTANDING
    assert (outcome.ended.doubles, outcome.ended.others) == (0, 0)
    heard = sum(len(each) for each in outcome.rings.values())
    # the second of two rings on one subject may replace the first before anybody has heard it
    assert outcome.rung == 2 * OUTSTANDING / 50
    assert heard >= len(outcome.rings) + outcome.rung / 2
    assert min(outcome.ended.late.values()) > 0
