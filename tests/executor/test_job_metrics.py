"""A job's own metrics, from processes that really serve them: whose they are is not the job's to
say, what they may cost is bounded, and they go when the job does."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.spec import MetricsSpec
from muster.executor.backends import Launch, WorkerKey, WorkerStatus
from muster.executor.backends.local import LocalBackend, NodeConfig
from muster.executor.core.job_metrics import LONGEST, OURS, Series, owned
from muster.executor.exposition import Family, TooManySeries, page, read
from muster.executor.handlers import Handlers
from muster.executor.job_metrics import LARGEST, JobMetrics
from muster.executor.launches import Launches
from muster.executor.settings import ExecutorSettings
from muster.log.memory import MemoryLog, Store
from muster.runtime.ports import free_port
from tests.contract.backend_suite import end_all, until
from tests.support.eventually import eventually
from tests.support.log_lives import START, TENANT, HandClock, Lives

SERVER = """
import http.server, sys, time, pathlib
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/away":
            self.send_response(302); self.send_header("Location", "/metrics"); self.end_headers()
            return
        if self.path == "/silent":
            time.sleep(60)
        body = pathlib.Path(sys.argv[2]).read_bytes()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
OUR_LABELS = dict.fromkeys(OURS, "ours")


class Machine:
    """A log, this machine as a cluster, and an executor's collection of metrics."""

    def __init__(self, root: Path, settings: ExecutorSettings) -> None:
        self.root, self.settings = root, settings
        clock = HandClock(START)
        self.lives = Lives(MemoryLog(Store(clock.now)), clock)
        node = NodeConfig(name="n1", gpus=8, cpus=8, zone="z1")
        self.backend = LocalBackend(root / "state", [node], poll=0.02)
        pen = self.lives.pen(Owner.EXECUTOR)
        self.handlers = Handlers(pen, self.backend, Launches(root), settings)
        self.metrics = JobMetrics(self.backend, self.handlers, settings)

    async def runs(
        self, job: str, port: int, *, path: str = "/metrics", at: int | None = None, **how: object
    ) -> None:
        """A job whose one worker serves its file. port: as specified; at: where it listens."""
        await self.lives.running(job, "n1", metrics=MetricsSpec(port=port, path=path), **how)
        self.says(job, "x 1\n")
        await self.launch(job, at or port)

    async def launch(self, job: str, port: int, worker: str = "worker-0") -> None:
        key = WorkerKey(job, 1, worker)
        command = (sys.executable, "-I", "-S", "-c", SERVER, str(port), str(self.file(job)))
        launch = Launch(key, "n1", 0, command, {}, 0, 1, 0, "worker-0")
        await self.backend.launch([launch])
        await until(self.backend, key, WorkerStatus.RUNNING)
        await eventually(lambda: self.backend.serves(key, port))

    def file(self, job: str) -> Path:
        return self.root / f"{job}.prom"

    def says(self, job: str, text: str | bytes) -> None:
        self.file(job).write_bytes(text if isinstance(text, bytes) else text.encode())

    async def look(self) -> dict[str, list[tuple[Mapping[str, str], float]]]:
        """Collect once and read the page as Prometheus would: name -> labels and value."""
        await self.handlers.watch.read()
        await self.metrics.step()
        return self.shown()

    def shown(self) -> dict[str, list[tuple[Mapping[str, str], float]]]:
        found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in text_string_to_metric_families(self.metrics.page().decode()):
            for sample in family.samples:
                assert sample.timestamp is None
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
        return found

    async def outcomes(self) -> dict[str, str]:
        told = (await self.look())["muster_job_metrics"]
        return {labels["task_uuid"]: labels["outcome"] for labels, _ in told}


@pytest.fixture
def settings() -> ExecutorSettings:
    return ExecutorSettings(metrics_series=20, metrics_total=30, cluster="c1")


@pytest.fixture
async def machine(tmp_path: Path, settings: ExecutorSettings) -> AsyncIterator[Machine]:
    made = Machine(tmp_path, settings)
    await made.handlers.holder.acquire()
    await made.lives.joined("n1")
    yield made
    await end_all(made.backend)


@pytest.mark.case("SCL-15")
async def test_a_job_does_not_pose_as_another(machine: Machine) -> None:
    await machine.runs("v", free_port())
    machine.says(
        "v",
        'x{task_uuid="other",user="boss",Task_UUID="third",exported_user="x",mine="1"}'
        " 7 99999999999\n"
        "muster_facts_total 1000000\n",
    )
    found = await machine.look()
    ((labels, value),) = found["x"]
    assert value == 7
    assert labels == {
        "cluster": "c1",
        "orgname": TENANT,
        "user": "ann",
        "module": "training",
        "task_type": "PyTorchJob",
        "task_name": "train",
        "task_uuid": "v",
        "resource_pool": "default",
        "region": "default",
        "worker": "worker-0",
        "exported_task_uuid": "other",
        "exported_exported_user": "boss",
        "exported_user": "x",
        "exported_Task_UUID": "third",
        "mine": "1",
    }
    assert "muster_facts_total" not in found
    assert found["exported_muster_facts_total"][0][0]["task_uuid"] == "v"


@pytest.mark.case("SCL-15")
async def test_a_port_of_somebody_else_is_not_asked(machine: Machine) -> None:
    """Another job's, or a service's of the platform: its figures are not this job's to show."""
    port = free_port()
    await machine.runs("owner", port)
    await machine.runs("thief", port, at=free_port())
    assert await machine.outcomes() == {"owner": "ok", "thief": "not_served"}
    assert [labels["task_uuid"] for labels, _ in machine.shown()["x"]] == ["owner"]


@pytest.mark.sibling_of("SCL-15")
@pytest.mark.parametrize(("count", "outcome"), [(20, "ok"), (21, "too_many")])
async def test_so_many_series_of_one_worker_and_no_more(
    machine: Machine, count: int, outcome: str
) -> None:
    await machine.runs("v", free_port())
    machine.says("v", "".join(f'x{{n="{number}"}} 1\n' for number in range(count)))
    assert await machine.outcomes() == {"v": outcome}
    assert len(machine.shown().get("x", ())) == (count if outcome == "ok" else 0)


@pytest.mark.sibling_of("SCL-15")
@pytest.mark.parametrize(("second", "outcome"), [(10, "ok"), (11, "no_room")])
async def test_so_many_series_of_all_and_no_more(
    machine: Machine, second: int, outcome: str
) -> None:
    for job, count in (("a", 20), ("b", second)):
        await machine.runs(job, free_port())
        machine.says(job, "".join(f'x{{n="{number}"}} 1\n' for number in range(count)))
    assert await machine.outcomes() == {"a": "ok", "b": outcome}


@pytest.mark.sibling_of("SCL-15")
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (b"x 1\n" + b"#" * (LARGEST - 4), "ok"),
        (b"x 1\n" + b"#" * (LARGEST - 3), "too_large"),
        (b"x{ 1 }}} \n", "unreadable"),
        (b"\xff\xfe x 1\n", "unreadable"),
        (b"<html>not metrics</html>", "unreadable"),
        (b'{"a name with blanks"} 1\n', "unreadable"),
        (b"", "ok"),
    ],
    ids=["just fits", "too large", "syntax", "encoding", "html", "name", "empty"],
)
async def test_what_is_no_page_of_metrics(machine: Machine, text: bytes, outcome: str) -> None:
    await machine.runs("v", free_port())
    machine.says("v", text)
    assert await machine.outcomes() == {"v": outcome}


@pytest.mark.sibling_of("SCL-15")
@pytest.mark.parametrize(("path", "outcome"), [("/silent", "slow"), ("/away", "refused")])
async def test_a_worker_that_keeps_us_waiting_or_sends_us_elsewhere(
    machine: Machine, path: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.executor.job_metrics.ANSWER_S", 0.5)
    await machine.runs("v", free_port(), path=path)
    await machine.runs("well", free_port())
    assert await machine.outcomes() == {"v": outcome, "well": "ok"}


@pytest.mark.sibling_of("SCL-15")
async def test_the_series_of_a_job_go_when_it_ends(machine: Machine) -> None:
    await machine.runs("v", free_port())
    assert "x" in await machine.look()
    await machine.lives.say("v", Owner.EXECUTOR, f.Succeeded(attempt=1))
    await machine.handlers.watch.read()
    assert machine.shown() == {}  # at once, whoever asks next
    assert await machine.look() == {}
    assert machine.metrics._seen == {}


async def test_two_workers_of_one_job_are_told_apart(machine: Machine) -> None:
    port = free_port()
    await machine.runs("v", port)
    await machine.launch("v", free_port(), "worker-1")
    told = (await machine.look())["muster_job_metrics"]
    assert sorted((labels["worker"], labels["outcome"]) for labels, _ in told) == [
        ("worker-0", "ok"),
        ("worker-1", "not_served"),
    ]


async def test_a_job_that_names_no_port_is_not_asked(machine: Machine) -> None:
    await machine.lives.running("v", "n1")
    machine.says("v", "x 1\n")
    await machine.launch("v", free_port())
    assert await machine.look() == {}


LABEL = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True) | st.sampled_from(
    [name for own in OURS for name in (own, own.upper(), f"exported_{own}")]
)


@given(st.dictionaries(LABEL, st.text(max_size=600), max_size=8))
def test_labels_of_ours_always_win_and_none_of_the_job_is_lost(labels: dict[str, str]) -> None:
    found = owned(Series("x", labels, 1.0), OUR_LABELS)
    assert found is not None
    assert {name: found.labels[name] for name in OURS} == OUR_LABELS
    theirs = {name: value for name, value in found.labels.items() if name not in OUR_LABELS}
    assert not [name for name in theirs if name.lower() in OUR_LABELS]
    assert sorted(theirs.values()) == sorted(value[:LONGEST] for value in labels.values())


@given(st.text(max_size=200))
def test_whatever_a_worker_says_is_read_or_refused_in_known_words(text: str) -> None:
    try:
        families = read(text, OUR_LABELS, 10)
    except (ValueError, KeyError, IndexError, TooManySeries):
        return
    again = page(families).decode()
    for family in text_string_to_metric_families(again):
        for sample in family.samples:
            assert {name: sample.labels[name] for name in OURS} == OUR_LABELS


def test_a_name_that_two_jobs_use_for_different_things_stands_once_and_without_a_type() -> None:
    one = Family("x", "gauge", "one", (Series("x", {"task_uuid": "a"}, 1),))
    two = Family("x", "counter", "two", (Series("x", {"task_uuid": "b"}, 2),))
    text = page([one, two]).decode()
    assert text.count("# TYPE x ") == 1
    assert "# TYPE x untyped" in text
    assert text.count("\nx{") == 2
