"""The whole of a large pool of spot nodes goes within ten seconds, as the case has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.cli.simulation.scenario_files import read
from muster.cli.simulation.scenario_runner import tell

NODES = 200
BACK = NODES // 2


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.case("SCL-17")
def test_two_hundred_nodes_go_and_half_of_them_come_back(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(NODES)]
    told = {name: 10 * number / NODES for number, name in enumerate(names)}
    gone = [{"at": at, "do": "reclaim", "node": name, "notice": 60} for name, at in told.items()]
    taken = [{"at": at + 60, "do": "taken", "node": name} for name, at in told.items()]
    back = [{"at": 3590, "do": "back", "node": name} for name in names[:BACK]]
    storm = {"preempted": NODES, "requeued": NODES}
    story = {
        "title": "Two hundred spot nodes go within ten seconds",
        "given": {
            "nodes": {name: {"gpus": 8, "spot": True} for name in names},
            "jobs": {
                "v": {
                    "class": "spot",
                    "count": NODES,
                    "auto_queue": {"hours": 1, "requeues": 3},
                }
            },
        },
        "when": [*gone, *taken, *back],
        "then": [
            {
                "at": 60,
                "groups": [{"jobs": ["v"], "phases": {"queued": NODES}}],
                "counts": storm,
            },
            {
                "at": 3700,
                "groups": [{"jobs": ["v"], "phases": {"running": BACK, "abnormal": NODES - BACK}}],
                "counts": storm | {"queue_timed_out": NODES - BACK},
            },
        ],
    }
    path = tmp_path / "storm.yaml"
    path.write_text(json.dumps({"area": "storm", "scenarios": [story]}), "utf-8")
    tell(read(path).scenarios[0])
