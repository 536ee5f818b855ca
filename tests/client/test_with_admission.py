"""The client and the real admission: what is asked for becomes one job, in one trace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from muster.admission.service import build
from muster.bus.topology import Stream
from muster.client import MusterClient
from muster.contracts.requests import RequestHead, Stop, job_id
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.runtime.host import Host
from muster.runtime.settings import HostSettings

SPEC = {
    "name": "train",
    "image": "registry/train:1",
    "command": ["python", "train.py"],
    "resource": {"type": "spot", "replicas": 2, "gpus_per_replica": 8},
}


@pytest.fixture(autouse=True)
async def admission(url: str, tmp_path: Path) -> AsyncIterator[None]:
    settings = HostSettings(nats_url=SecretStr(url), state_dir=tmp_path)
    host = Host(settings, [(Owner.ADMISSION, build)])
    await host.start(provisioned=True)
    yield
    await host.stop()


async def test_a_submission_is_one_job_however_often_it_is_sent(muster: MusterClient) -> None:
    answers = [
        await muster.request("submit", {"spec": SPEC}, tenant="acme", user="ann", request_id="r1")
        for _ in range(3)
    ]
    assert answers == [answers[0]] * 3
    assert (answers[0].accepted, answers[0].job) == (True, job_id("acme", "r1"))
    assert len(await muster.jobs("acme")) == 1


async def test_every_event_of_a_job_is_in_the_trace_of_its_request(muster: MusterClient) -> None:
    answer = await muster.request("submit", {"spec": SPEC}, tenant="acme", user="ann")
    assert answer.job is not None
    await muster.send(Stop(user="ann", job=answer.job), tenant="acme")
    raw = await muster.connection.jetstream().get_msg(Stream.REQUESTS, 1)
    request = RequestHead.model_validate_json(raw.data or b"")
    assert request.traceparent is not None
    timeline = await muster.timeline("acme", answer.job)
    assert [item.event.data.detail.event for item in timeline] == [
        "submitted",
        "admitted",
        "stop_requested",
    ]
    traces = {(item.event.traceparent or "").split("-")[1] for item in timeline}
    assert traces == {request.traceparent.split("-")[1]}
    assert timeline[-1].job.phase is Phase.STOPPED


async def test_a_refusal_names_every_broken_rule(muster: MusterClient) -> None:
    broken = SPEC | {"name": "Not A Name", "command": []}
    answer = await muster.request("submit", {"spec": broken}, tenant="acme", user="ann")
    assert not answer.accepted
    assert {found.path for found in answer.violations} == {"$.spec.name", "$.spec.command"}
