"""Whatever happens to one rank, no other one hangs, and each says what happened."""

import signal
import socket
from pathlib import Path

import pytest

from tests.examples.training_gang import gang_of

ENDLESS = ("--steps=1000000", "--step-time=0.01", "--report-every=1")


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_the_death_of_a_rank_ends_all_of_them(dead: int, tmp_path: Path) -> None:
    with gang_of(3, tmp_path) as gang:
        gang.start_all(*ENDLESS)
        gang.ranks[0].until_printed("step=3 ")
        gang.ranks[dead].send(signal.SIGKILL)
        others = {0, 1, 2} - {dead}
        assert gang.exit_codes() == {dead: -signal.SIGKILL} | dict.fromkeys(others, 75)
        for rank in others:
            assert f"a peer was lost: rank {dead} is gone" in gang.ranks[rank].output


def test_fail_at_fails_the_first_attempt_only(tmp_path: Path) -> None:
    options = ("--steps=40", "--checkpoint-every=10", "--fail-at=25")
    with gang_of(2, tmp_path) as gang:
        gang.start_all(*options)
        assert gang.exit_codes() == {0: 75, 1: 7}
        assert "rank 1: failing on purpose at step 25" in gang.ranks[1].output
        assert "rank 0: a peer was lost: rank 1 is gone" in gang.ranks[0].output
    with gang_of(2, tmp_path, attempt=2) as gang:
        gang.start_all(*options)
        assert gang.exit_codes() == {0: 0, 1: 0}
        assert "checkpoint loaded: step=20 " in gang.ranks[0].output


def test_rank_0_may_come_last(tmp_path: Path) -> None:
    with gang_of(3, tmp_path) as gang:
        for rank in (2, 1):
            gang.start(rank, "--steps=5").until_printed("training:")
        gang.start(0, "--steps=5")
        assert gang.exit_codes() == {0: 0, 1: 0, 2: 0}


def test_rank_0_waits_until_its_port_is_free(tmp_path: Path) -> None:
    with gang_of(1, tmp_path) as one, gang_of(2, tmp_path, attempt=2) as gang:
        with socket.create_server(("127.0.0.1", gang.port)):
            gang.start(0, "--steps=5").until_printed("training:")
            one.start(0, "--steps=5", WORLD_SIZE="1").exit_code()  # time passes
            assert gang.ranks[0].process.poll() is None
        gang.start(1, "--steps=5")
        assert gang.exit_codes() == {0: 0, 1: 0}


def test_a_rank_that_never_comes_is_named(tmp_path: Path) -> None:
    with gang_of(3, tmp_path) as gang:
        gang.start(1).until_printed("training:")
        gang.start(0, "--join-timeout=1")
        assert gang.exit_codes() == {0: 75, 1: 75}
        for rank in gang.ranks.values():
            assert "a peer was lost: rank 2 did not come within 1 s" in rank.output


def test_waiting_for_rank_0_has_an_end(tmp_path: Path) -> None:
    with gang_of(2, tmp_path) as gang:
        assert gang.start(1, "--join-timeout=0.3").exit_code() == 75
        assert "did not let us in within 0.3 s" in gang.ranks[1].output


def test_strangers_and_stragglers_do_not_disturb(tmp_path: Path) -> None:
    with gang_of(2, tmp_path, attempt=2) as gang, gang_of(2, tmp_path, attempt=1) as old:
        gang.start(0, "--steps=5").until_printed("training:")
        straggler = old.start(1, "--join-timeout=0.3", MASTER_PORT=str(gang.port))
        assert straggler.exit_code() == 75
        assert "this is attempt 2, not 1" in straggler.output
        with (
            socket.create_connection(("127.0.0.1", gang.port)) as silent,
            socket.create_connection(("127.0.0.1", gang.port)) as lost,
        ):
            lost.sendall(b"GET / HTTP/1.1\r\n\r\n")
            gang.start(1, "--steps=5")
            assert gang.exit_codes() == {0: 0, 1: 0}
            assert silent.recv(1) == b""


def test_a_silent_rank_counts_as_lost_after_the_timeout(tmp_path: Path) -> None:
    with gang_of(2, tmp_path) as gang:
        gang.start_all(*ENDLESS, "--peer-timeout=0.5")
        gang.ranks[0].until_printed("step=3 ")
        gang.ranks[1].send(signal.SIGSTOP)
        assert gang.ranks[0].exit_code() == 75
        assert "a peer was lost: rank 1 stopped answering" in gang.ranks[0].output
        gang.ranks[1].send(signal.SIGCONT)
        assert gang.ranks[1].exit_code() == 75


def test_a_stop_saves_the_last_whole_step_even_when_a_rank_is_frozen(tmp_path: Path) -> None:
    with gang_of(2, tmp_path) as gang:
        gang.start_all(*ENDLESS)
        gang.ranks[0].until_printed("step=3 ")
        gang.ranks[1].send(signal.SIGSTOP)
        gang.ranks[0].send(signal.SIGTERM)
        assert gang.ranks[0].exit_code() == 143
        last = max(gang.ranks[0].losses)
        assert f"checkpoint saved: step={last} " in gang.ranks[0].output


@pytest.mark.parametrize("rank", [0, 1])
def test_a_stop_before_all_have_come_is_obeyed(rank: int, tmp_path: Path) -> None:
    with gang_of(3, tmp_path) as gang:
        alone = gang.start(rank)
        alone.until_printed("training:")
        alone.send(signal.SIGTERM)
        assert alone.exit_code() == 143
        assert "stopped: before the first step, reason=SIGTERM" in alone.output
