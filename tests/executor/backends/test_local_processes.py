"""Only the right process is ever signalled, and none of a worker's is overlooked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from muster.executor.backends.local.keeper import BOOT, birth
from muster.executor.backends.local.processes import Process, end_remains, remains
from tests.executor.backends.local_cluster import STRANGER, lives
from tests.support.eventually import eventually

MARK = ("MUSTER_STOP_FILE", "/state/of/this/test/stop")

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="without /proc only the process group is seen"
)


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(STRANGER, start_new_session=True) as process:
        yield process
        process.kill()


@pytest.fixture
def fled() -> Iterator[subprocess.Popen[bytes]]:
    """A process of a worker in a session of its own."""
    with subprocess.Popen(STRANGER, start_new_session=True, env=dict([MARK])) as process:
        yield process
        process.kill()


@pytest.fixture
def ended_leader() -> Iterator[tuple[int, int]]:
    """Numbers of a session's leader that has ended, and of a process that it left."""
    command = ["sh", "-c", "sleep 1000 >&- & echo $!"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as leader:
        orphan = int(leader.communicate()[0])
    yield leader.pid, orphan
    if lives(orphan):
        os.kill(orphan, signal.SIGKILL)


def born(pid: int) -> str:
    found = birth(pid)
    assert found is not None
    return found


def test_a_process_is_signalled_by_number_and_birth(other: subprocess.Popen[bytes]) -> None:
    earlier = Process(other.pid, f"{BOOT}:1")
    assert not earlier.alive
    assert not earlier.signal_group(signal.SIGKILL)
    earlier.signal(signal.SIGKILL)
    assert other.poll() is None
    now = Process(other.pid, born(other.pid))
    assert now.alive
    now.signal(signal.SIGKILL)
    assert other.wait() == -signal.SIGKILL
    assert birth(other.pid) is None
    now.signal(signal.SIGKILL)  # nobody there, and no error


async def test_a_zombie_is_dead(other: subprocess.Popen[bytes]) -> None:
    process = Process(other.pid, born(other.pid))
    process.signal(signal.SIGKILL)
    await eventually(lambda: not process.alive)
    assert other.returncode is None  # not reaped yet
    assert birth(other.pid) is None


async def test_what_an_ended_leader_left_is_found_by_its_session(
    ended_leader: tuple[int, int],
) -> None:
    leader, orphan = Process(ended_leader[0], f"{BOOT}:1"), ended_leader[1]
    assert len(remains(leader, "no-such-mark")) == 1
    assert end_remains(leader, "no-such-mark")
    await eventually(lambda: not lives(orphan))
    assert not end_remains(leader, "no-such-mark")


@linux
async def test_what_fled_from_the_session_is_found_by_its_mark(
    other: subprocess.Popen[bytes], fled: subprocess.Popen[bytes]
) -> None:
    gone = Process(2**22, f"{BOOT}:1")
    await eventually(lambda: remains(gone, "=".join(MARK)))  # it has its environment by its exec
    assert remains(gone, "=".join(MARK)) == [Process(fled.pid, born(fled.pid))]
    assert end_remains(gone, "=".join(MARK))
    await eventually(lambda: not lives(fled.pid))
    assert other.poll() is None


@linux
def test_nothing_remains_of_a_worker_of_before_the_last_start(
    other: subprocess.Popen[bytes],
) -> None:
    assert remains(Process(other.pid, "another-boot:1"), "no-such-mark") == []
