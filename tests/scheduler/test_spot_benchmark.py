"""The benchmark of spot quotas: its load and its outages are what they say, and it compares."""

from __future__ import annotations

from statistics import quantiles

import pytest

from benchmarks.spot import POLICIES, _options, against, measure
from benchmarks.spot_load import DAY, MODELS, Shape, cluster, workload
from benchmarks.spot_outages import MEASURED, statistics, steps
from muster.cli.simulation.replay.capacity import Happens


def test_the_cluster_is_the_published_one() -> None:
    found = [cluster(model, 1, Shape()) for model in MODELS]
    assert sum(len(nodes) for nodes in found) == 4278
    assert sum(node.gpus for nodes in found for node in nodes.values()) == 10_412


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_outages_are_as_long_as_they_were_measured(seed: int) -> None:
    found = statistics(seed, days=2000)
    for name, (low, high) in MEASURED.items():
        assert low * 0.9 <= found[name] <= high * 1.1, name


def test_spot_nodes_of_a_zone_go_and_come_back_together() -> None:
    nodes = cluster("A100", 4, Shape(spot_nodes=0.3))
    assert sum(node.spot for node in nodes.values()) == round(0.3 * len(nodes)) == 32
    found = steps(nodes, DAY, 1)
    assert found == steps(nodes, DAY, 1) != steps(nodes, DAY, 2)
    gone = [(s.at_s, nodes[s.node].zone) for s in found if s.happens is Happens.RECLAIM]
    assert {gone.count(one) for one in gone} == {16}


def test_jobs_ask_for_what_the_shape_says_and_are_the_same_for_a_seed() -> None:
    shape = Shape(days=28)
    nodes = cluster("H800", 4, shape)
    found = workload("H800", nodes, shape, 1)
    assert found == workload("H800", nodes, shape, 1)
    assert found.rows != workload("H800", nodes, shape, 2).rows
    gpu_s = dict.fromkeys(("guaranteed", "spot"), 0.0)
    for row in found.rows:
        gpu_s[row.qos] += row.gpu_count * min(row.duration_s, 28 * DAY - row.submit_s)
    whole = sum(node.gpus for node in nodes.values()) * 28 * DAY
    assert gpu_s["spot"] / whole == pytest.approx(shape.spot, rel=0.3)
    assert 0.45 < gpu_s["guaranteed"] / whole < 0.75
    lengths = quantiles((row.duration_s for row in found.rows if row.qos == "spot"), n=10)
    assert lengths[4] == pytest.approx(3600, rel=0.15)
    assert lengths[8] == pytest.approx(6.4 * 3600, rel=0.2)


def test_a_run_gives_a_line_and_says_what_it_changes() -> None:
    words = ["--models", "A800", "--scale", "4", "--days", "1", "--learned", "1"]
    options = _options().parse_args(words)
    fifo, other = (measure(name, Shape(days=2), options, 1) for name in ("fifo", "no_forecast"))
    assert fifo["bench"] == "spot"
    assert 0 <= fifo["eviction_rate"] <= 1
    assert fifo["spot_jobs"] == other["spot_jobs"] > 0
    line = against(other | {"spot_queue_s": 50.0}, fifo | {"spot_queue_s": 200.0})
    assert line["spot_queue_s_vs_fifo"] == -75
    assert set(POLICIES) >= {"fifo", "no_forecast", "forecast"}
