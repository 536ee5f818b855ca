"""`muster usage` against a running Muster: from its gateway, and from the log alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Muster, job_file, muster_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]


def sums(document: dict[str, Any]) -> dict[str, tuple[float, float]]:
    rows = document["rows"]
    return {row["by"]["phase"]: (row["seconds"], row["gpu_seconds"]) for row in rows}


async def test_use_is_the_same_from_gateway_and_log(tmp_path: Path) -> None:
    async with muster_in(tmp_path / "m") as muster:
        await muster.up()
        shape = {"type": "on_demand", "replicas": 2, "gpus_per_replica": 3}
        job = await muster.submit(
            str(job_file(muster.folder, "train", ["sleep", "2"], resource=shape))
        )
        ended = await muster.in_phase(job, "succeeded")
        assert ended.started_at is not None
        assert ended.ended_at is not None
        asked = ("usage", "--by", "phase", "--until", ended.ended_at.isoformat(), "--json")
        kept = await muster.ok(*asked)
        hot = await _without_gateway(muster).ok(*asked)
        assert (kept.json["source"], hot.json["source"]) == ("archive", "log")
        assert sums(kept.json) == sums(hot.json)
        held = sums(kept.json)["running"]
        assert held[1] == pytest.approx(6 * held[0])
        # from the words of both: a worker may end sooner after them than it was told to sleep
        assert held[0] == pytest.approx((ended.ended_at - ended.started_at).total_seconds())
        assert held[0] > 0.0
        assert sums(kept.json)["queued"][1] == 0.0
        said = await muster.ok("usage", "--by", "tenant,user,model")
        assert "waiting costs nothing: " in said.out
        assert ", 0 GPU-seconds" in said.out


def _without_gateway(muster: Muster) -> Muster:
    """The same Muster, told of a gateway that is not there."""
    other = Muster(muster.folder)
    server = json.loads((muster.state / "nats" / "nats-server.json").read_text())
    other._environ |= {
        "MUSTER_NATS_URL": f"nats://{server['token']}@127.0.0.1:{server['port']}",
        "MUSTER_GATEWAY_URL": "http://127.0.0.1:9",
    }
    return other
