"""The state folder says whether an `up` has it, which one, and where its server is."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.cli.connecting import address
from muster.cli.demo.stage import MARK, clear, only_one
from muster.cli.errors import CliError
from muster.cli.session import Session
from muster.cli.stack.banner import state_option
from muster.cli.stack.folder import StateFolder, this_process
from muster.cli.stack.stopping import Ended, stop_all
from muster.runtime.nats_folder import Record, ServerFolder
from muster.runtime.processes import start_mark

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    found = StateFolder(tmp_path / "state")
    found.prepare()
    return found


def test_only_one_up_has_the_folder(folder: StateFolder) -> None:
    lock = folder.take_lock()
    assert lock is not None
    assert folder.take_lock() is None
    os.close(lock)
    again = folder.take_lock()
    assert again is not None
    os.close(again)


def test_the_record_tells_a_living_up_from_a_dead_one(folder: StateFolder) -> None:
    assert folder.read() is None
    up = this_process(NOW)
    folder.write(up)
    assert folder.read() == up
    assert up.runs
    assert not up.model_copy(update={"mark": "of/another"}).runs
    folder.forget()
    assert folder.read() is None


def test_half_a_record_is_no_record(folder: StateFolder) -> None:
    (folder.path / "up.json").write_text('{"pid": 1')
    assert folder.read() is None


def _server(folder: StateFolder, **changes: object) -> None:
    mine = {"pid": os.getpid(), "mark": start_mark(os.getpid())}
    record = Record(port=4, monitor_port=5, token="secret")
    ServerFolder(folder.nats).write_record(record.model_copy(update=mine | changes))


@pytest.mark.parametrize(
    ("changes", "runs"),
    [({}, True), ({"stopped": True}, False), ({"mark": "x"}, False), ({"pid": None}, False)],
)
def test_the_server_is_found_only_while_it_runs(
    folder: StateFolder, changes: dict[str, object], runs: bool
) -> None:
    assert folder.server_url() is None
    _server(folder, **changes)
    assert folder.server_url() == ("nats://secret@127.0.0.1:4" if runs else None)


def test_an_address_is_looked_for_in_order(
    folder: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUSTER_NATS_URL", raising=False)
    monkeypatch.setenv("MUSTER_STATE", str(folder.path))
    with pytest.raises(CliError, match="no Muster runs"):
        address(Session())
    _server(folder)
    assert address(Session()).local is not None
    monkeypatch.setenv("MUSTER_NATS_URL", "nats://elsewhere:4222")
    assert address(Session()).url == "nats://elsewhere:4222"
    assert address(Session()).local is None
    assert address(Session(state=folder.path)).url == "nats://secret@127.0.0.1:4"
    assert address(Session(), "nats://named").url == "nats://named"


def test_a_command_is_told_the_folder_only_where_it_would_not_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_option(tmp_path / ".muster") == ""
    assert state_option(tmp_path / "two words") == f" --state '{tmp_path / 'two words'}'"
    assert state_option(tmp_path / "other") == f" --state {tmp_path / 'other'}"


async def test_to_end_what_does_not_run_ends_nothing(folder: StateFolder, tmp_path: Path) -> None:
    assert await stop_all(folder, end_workers=True) == Ended()
    nowhere = StateFolder(tmp_path / "nowhere")
    assert await stop_all(nowhere, end_workers=False) == Ended()
    assert not nowhere.path.exists()


async def test_only_a_folder_of_a_demo_is_deleted(folder: StateFolder) -> None:
    (folder.path / "precious").touch()
    with pytest.raises(CliError, match="will not be deleted"):
        await clear(folder)
    assert (folder.path / "precious").exists()
    (folder.path / MARK).touch()
    assert await clear(folder) == Ended()
    assert not folder.path.exists()
    assert await clear(folder) is None


def test_two_demos_do_not_share_a_folder(folder: StateFolder) -> None:
    with only_one(folder), pytest.raises(CliError, match="another demo"), only_one(folder):
        raise AssertionError("both had it")
    with only_one(folder):
        pass
