"""What a worker is given, and what is refused before anything starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.errors import Permanent, Temporary
from muster.executor.backends import Launch, WorkerKey
from muster.executor.backends.local import LocalBackend, NodeConfig
from muster.executor.backends.local.nodes import ForeignConfig
from muster.executor.backends.refusals import RefusalCode, Refused
from tests.contract.backend_suite import ENDED, end_all, logged, until, worker
from tests.executor.backends.local_cluster import LocalCluster
from tests.support.eventually import eventually

WAITS = ("sleep", "1000")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    cluster = LocalCluster(tmp_path)
    yield cluster
    await end_all(cluster.backend())


@pytest.fixture
def backend(cluster: LocalCluster) -> LocalBackend:
    return cluster.backend()


async def environment(cluster: LocalCluster, key: WorkerKey) -> dict[str, str]:
    """What the worker saw."""
    found = await eventually(lambda: cluster.environment(key))
    assert found is not None
    return found


async def test_every_worker_knows_its_place_and_where_the_gang_meets(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    gang = [worker(cluster.shows_environment(), index=index, gpus=2) for index in range(2)]
    gang[0] = replace(gang[0], env={"MUSTER_CHECKPOINT_DIR": "/checkpoints", "LR": "0.1"})
    await backend.launch(gang)
    first, second = [await environment(cluster, launch.key) for launch in gang]
    expected = {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "MUSTER_JOB": "job",
        "MUSTER_ATTEMPT": "1",
        "MUSTER_WORKER": "worker-0",
        "MUSTER_NODE": "node-1",
        "MUSTER_CHECKPOINT_DIR": "/checkpoints",
        "LR": "0.1",
    }
    assert expected.items() <= first.items()
    assert (second["RANK"], second["CUDA_VISIBLE_DEVICES"]) == ("1", "2,3")
    assert first["MASTER_PORT"] == second["MASTER_PORT"]
    leader, other = [await until(backend, launch.key, *ENDED) for launch in gang]
    assert (leader.address, other.address) == (f"127.0.0.1:{first['MASTER_PORT']}", "127.0.0.1")


async def test_nothing_of_the_service_reaches_a_worker_but_what_it_needs(
    cluster: LocalCluster,
) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/home/x", "NATS_PASSWORD": "secret"}
    backend = LocalBackend(cluster.state_dir, [cluster.node], environ=environ)
    launch = worker(cluster.shows_environment())
    await backend.launch([launch])
    seen = await environment(cluster, launch.key)
    assert "NATS_PASSWORD" not in seen
    assert seen["HOME"] == "/home/x"
    assert seen["PATH"].endswith(":/usr/bin:/bin")  # after the running interpreter's own folder
    assert seen["CUDA_VISIBLE_DEVICES"] == ""


async def test_the_environment_leaves_the_disk_when_it_is_in_use(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launch = replace(worker(cluster.exits(0)), env={"TOKEN": "only-in-memory"})
    await backend.launch([launch])
    await until(backend, launch.key, *ENDED)
    files = [path for path in cluster.state_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"only-in-memory" in path.read_bytes()]


async def test_the_attempt_keeps_its_port_over_two_calls_and_two_executors(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    one, two = (worker(cluster.shows_environment(), index=index) for index in range(2))
    again = worker(cluster.shows_environment(), attempt=2)
    await backend.launch([one])
    await cluster.backend().launch([two])
    await backend.launch([again])
    ports = [(await environment(cluster, each.key))["MASTER_PORT"] for each in (one, two, again)]
    assert ports[0] == ports[1] != ports[2]


async def test_output_goes_to_the_log_of_the_worker(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launch = worker(("sh", "-c", "echo out; echo err >&2; pwd"))
    await backend.launch([replace(launch, workdir=str(cluster.notes))])
    seen = await until(backend, launch.key, *ENDED)
    assert logged(seen) == f"out\nerr\n{cluster.notes}\n"


async def test_gpus_are_free_again_when_their_worker_has_ended(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    holder = worker(WAITS, job="holder", gpus=3)
    await backend.launch([holder])
    late = worker(cluster.exits(0), job="late", gpus=2)
    with pytest.raises(Refused, match=r"1 free GPU\(s\), 2 needed") as refused:
        await backend.launch([late])
    assert not refused.value.blames_job
    await backend.kill([holder.key])
    await until(backend, holder.key, *ENDED)
    await backend.launch([late])
    assert (await until(backend, late.key, *ENDED)).exit_code == 0


async def test_racing_executors_never_share_a_gpu(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launches = [worker(cluster.shows_environment(), job=f"job-{n}", gpus=1) for n in range(4)]
    held = [worker(WAITS, job=f"held-{n}", gpus=1) for n in range(4)]
    results = await asyncio.gather(
        *(cluster.backend().launch([launch]) for launch in held), return_exceptions=True
    )
    assert results == [None] * 4
    with pytest.raises(Refused, match="0 free"):
        await backend.launch(launches[:1])


def sharing(
    cluster: LocalCluster, job: str, card: int, milli: int, command: tuple[str, ...] = WAITS
) -> Launch:
    """A launch of one worker that shares a card."""
    return replace(worker(command, job=job), card=card, gpu_milli=milli)


async def test_workers_on_one_shared_card_see_one_gpu_and_their_shares(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    one = sharing(cluster, "one", 0, 400)
    two = sharing(cluster, "two", 0, 600, cluster.shows_environment())
    other = sharing(cluster, "other", 1, 600, cluster.shows_environment())
    await backend.launch([worker(WAITS, job="first", gpus=1), one])
    await backend.launch([two, other])
    seen = [await environment(cluster, each.key) for each in (two, other)]
    shown = [(each["CUDA_VISIBLE_DEVICES"], each["MUSTER_GPU_MILLI"]) for each in seen]
    assert shown == [("1", "600"), ("2", "600")]
    with pytest.raises(Refused, match="3 needed"):
        await backend.launch([worker(WAITS, job="greedy", gpus=3)])


async def test_a_shared_card_keeps_its_gpu_although_who_opened_it_has_left(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    first = worker(WAITS, job="first", gpus=2)
    opened, joined = sharing(cluster, "opened", 0, 100), sharing(cluster, "joined", 0, 100)
    await backend.launch([first])
    await backend.launch([opened])
    await backend.launch([joined])
    await backend.kill([opened.key, first.key])
    await until(backend, opened.key, *ENDED)
    await until(backend, first.key, *ENDED)
    late = sharing(cluster, "late", 0, 800, cluster.shows_environment())
    whole = worker(cluster.shows_environment(), job="whole", gpus=3)
    await cluster.backend().launch([late, whole])  # a new executor, which knows nothing
    seen = [await environment(cluster, each.key) for each in (late, whole)]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in seen] == ["2", "0,1,3"]
    assert seen[1]["MUSTER_GPU_MILLI"] == "3000"


async def test_a_share_that_is_not_there_is_refused_and_the_job_is_not_to_blame(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(WAITS, job="whole", gpus=3), sharing(cluster, "a", 0, 700)])
    with pytest.raises(Refused, match="400 thousandths left for shared card 0") as refused:
        await backend.launch([sharing(cluster, "b", 0, 400)])
    assert not refused.value.blames_job
    await backend.launch([sharing(cluster, "c", 0, 300)])


async def test_what_others_take_is_given_to_nobody(cluster: LocalCluster) -> None:
    node = NodeConfig(name="node-1", gpus=4, cpus=4, foreign=ForeignConfig(gpus=3))
    backend = LocalBackend(cluster.state_dir, [node])
    with pytest.raises(Refused, match=r"1 free GPU\(s\), 2 needed"):
        await backend.launch([worker(WAITS, gpus=2)])
    await backend.launch([sharing(cluster, "a", 0, 700)])
    with pytest.raises(Refused, match="shared card 1"):
        await backend.launch([sharing(cluster, "b", 1, 100)])


async def test_shown_workers_tell_how_many_gpus_they_are_on(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launches = [worker(WAITS, job="whole", gpus=2), sharing(cluster, "share", 0, 1)]
    await backend.launch([*launches, worker(WAITS, job="none")])
    shown = {each.key.job: each.gpus for each in await backend.observe()}
    assert shown == {"whole": 2, "share": 1, "none": 0}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"command": ("no-such-program",)}, RefusalCode.PROGRAM_NOT_FOUND),
        ({"command": ("/no/such/program",)}, RefusalCode.PROGRAM_NOT_FOUND),
        ({"command": ("./train.sh",)}, RefusalCode.PROGRAM_NOT_FOUND),
        ({"command": ()}, RefusalCode.BAD_COMMAND),
        ({"command": ("sh", "a\0b")}, RefusalCode.BAD_COMMAND),
        ({"env": {"A=B": "c"}}, RefusalCode.BAD_COMMAND),
        ({"workdir": "/no/such/directory"}, RefusalCode.WORKDIR_NOT_FOUND),
        ({"node": "node-9"}, RefusalCode.NODE_UNKNOWN),
        ({"gpus": 5}, RefusalCode.NO_FREE_GPUS),
        ({"key": WorkerKey("../job", 1, "worker-0")}, RefusalCode.BAD_NAME),
        ({"key": WorkerKey("a@b", 1, "worker-0")}, RefusalCode.BAD_NAME),
        ({"key": WorkerKey("j" * 128, 1, "w" * 128)}, RefusalCode.BAD_NAME),
    ],
)
async def test_refuses_with_a_code_and_two_texts(
    backend: LocalBackend, change: dict[str, object], code: RefusalCode
) -> None:
    launch = replace(worker(("sh", "-c", "true")), **change)  # type: ignore[arg-type]
    with pytest.raises(Refused) as refused:
        await backend.launch([launch])
    assert isinstance(refused.value, Permanent)
    assert [each.code for each in refused.value.refusals] == [code]
    assert refused.value.blames_job == (code.blames_job)
    assert refused.value.zh.isascii() is False
    assert list(await backend.observe()) == []


async def test_a_gang_is_refused_whole_and_for_every_reason(backend: LocalBackend) -> None:
    gang: list[Launch] = [
        worker(("sh", "-c", "true")),
        worker(("no-such-program",), index=1),
        replace(worker(("sh",), index=2), node="node-9"),
    ]
    with pytest.raises(Refused, match=r"worker-1: .*; worker-2: ") as refused:
        await backend.launch(gang)
    assert [each.worker for each in refused.value.refusals] == ["worker-1", "worker-2"]
    assert list(await backend.observe()) == []


async def test_a_program_that_vanishes_after_the_check_ends_as_a_shell_says(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    script = cluster.notes / "broken.sh"
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o755)
    launch = worker((str(script),))
    await backend.launch([launch])
    seen = await until(backend, launch.key, *ENDED)
    assert seen.exit_code == 127
    assert "cannot start" in logged(seen)


async def test_a_state_directory_that_cannot_be_read_is_temporary(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    (cluster.state_dir / "workers").rename(cluster.state_dir / "elsewhere")
    with pytest.raises(Temporary, match="state directory"):
        await backend.observe()
    (cluster.state_dir / "elsewhere").rename(cluster.state_dir / "workers")


async def test_a_deadline_without_a_time_zone_is_a_mistake(backend: LocalBackend) -> None:
    from datetime import datetime

    with pytest.raises(ValueError, match="time zone"):
        await backend.signal([], datetime(2031, 5, 6))  # noqa: DTZ001  (that is the point)


def test_devices_of_a_node_are_shown_by_their_own_names() -> None:
    node = NodeConfig(name="node-1", gpus=3, devices=("4", "5", "GPU-abc"))
    assert node.visible((0, 2)) == "4,GPU-abc"
