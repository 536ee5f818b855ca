"""The benchmark of stability levels: its work, and one short run of each kind."""

from __future__ import annotations

import json

import pytest

from benchmarks.stability import Load, measure, workload

SMALL = Load(days=0.4, nodes=4, idle_per_hour=6.0, peak=0.9, trough=0.5)


def test_the_same_load_is_the_same_work_and_another_seed_is_another() -> None:
    work = workload(SMALL)
    assert workload(SMALL) == work
    assert workload(Load(days=0.4, nodes=4, seed=2)) != work
    levels = [row.stability_level for row in work.rows if row.qos == "idle"]
    assert set(levels) == {"low", "medium", "high"}
    assert all(row.stability_level is None for row in work.rows if row.qos != "idle")
    assert [row.submit_s for row in work.rows] == sorted(row.submit_s for row in work.rows)


@pytest.mark.parametrize("kind", ["fixed", "measured"])
def test_a_run_tells_of_each_level_and_the_same_again(kind: str) -> None:
    lines = list(measure(SMALL, kind))
    again = list(measure(SMALL, kind))
    assert [line["level"] for line in lines] == ["low", "medium", "high", "all"]
    assert json.dumps(lines[:3]) == json.dumps(again[:3])
    low = lines[0]
    assert low["n"] > 10
    assert 0 < low["lost"] < low["n"]
    assert low["interval_1h"][0] <= low["survive_1h"] <= low["interval_1h"][1]
    assert low["survive_6h"] <= low["survive_1h"]
    if kind == "fixed":
        assert [line["bound"] for line in lines[:3]] == [None, 0.5, 0.1]
