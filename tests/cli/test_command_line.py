"""The command line: help, languages, wrong usage, errors; nothing has to run for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.cli import main
from muster.cli.root import PANELS

EVERY = [name for names in PANELS.values() for name in names]
BARE = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "LC_", "LANG"))}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Muster = Callable[..., Done]


@pytest.fixture
def muster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Muster:
    """Run a command in this process, in an empty folder."""
    for name in os.environ.keys() - BARE.keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environ: str) -> Done:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["muster", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return run


def process(
    *arguments: str, folder: Path, python: tuple[str, ...] = (), **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own, for what is decided when modules are imported."""
    return subprocess.run(
        [sys.executable, *python, "-m", "muster.cli", *arguments],
        cwd=folder,
        env={**BARE, "COLUMNS": "100", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_help_names_every_command_and_exit_code(muster: Muster) -> None:
    done = muster("--help")
    assert done.code == 0
    assert all(f"\u2502 {name} " in done.out for name in EVERY)
    assert "5 no connection to Muster" in " ".join(done.out.split())


def test_the_help_imports_no_command(tmp_path: Path) -> None:
    done = process("--help", folder=tmp_path, python=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "muster.cli.root" in imported
    heavy = {"pydantic", "nats", "yaml", "structlog", "sqlalchemy", "fastapi"}
    assert not imported & heavy
    assert not any(name.startswith("muster.cli.commands.") for name in imported)


def test_the_help_speaks_the_language_of_the_locale(tmp_path: Path) -> None:
    chinese = process("init", "--help", folder=tmp_path, LANG="zh_CN.UTF-8")
    assert "生成带注释的 job.yaml" in chinese.stdout
    assert "选项" in chinese.stdout
    assert "显示帮助并退出" in chinese.stdout


@pytest.mark.parametrize("command", EVERY)
def test_every_command_explains_itself(muster: Muster, command: str) -> None:
    done = muster(command, "--help")
    assert done.code == 0, done.err
    assert f"Usage: muster {command}" in done.out


def test_every_leaf_has_the_shared_options(muster: Muster) -> None:
    done = muster("node", "reclaim", "--help")
    for option in ("--json", "--state", "--lang", "--debug", "--help"):
        assert option in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lsit",), "list"),
        (("list", "--nope"), "--nope"),
        (("list", "--lang", "fr"), "zh or en"),
        (("list", "--phase", "sleeping"), "unknown phase sleeping"),
        (("list", "-l", "team"), "key=value"),
        (("node", "reclaim", "n1", "--notice", "soon"), "30s"),
        (("events", "--event", "exploded"), "unknown event exploded"),
        (("submit",), "FILE"),
    ],
)
def test_wrong_usage_is_exit_code_two(
    muster: Muster, arguments: tuple[str, ...], words: str
) -> None:
    done = muster(*arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lsit",), "没有命令 lsit，是否应为 'list'"),
        (("list", "--nope"), "没有选项 --nope"),
        (("list", "--limit", "many"), "--limit 的值不合法：须为整数"),
        (("list", "--limit", "0"), "--limit 的值不合法：须不小于 1"),
        (("list", "extra"), "多余的参数：extra"),
        (("submit",), "缺少参数 FILE"),
        (("list", "--limit"), "选项 --limit 需要一个值"),
        (("completion", "cmd"), "cmd 不在可选值 'bash', 'zsh', 'fish', 'powershell' 中"),
        (("events", "--event", "exploded"), "未知事件 exploded"),
    ],
)
def test_wrong_usage_in_chinese(muster: Muster, arguments: tuple[str, ...], words: str) -> None:
    done = (
        muster(*arguments, "--lang", "zh")
        if arguments[-1] != "--limit"
        else muster(*arguments, MUSTER_LANG="zh")
    )
    assert done.code == 2
    assert done.err.startswith("错误：")
    assert words in done.err
    assert "处理办法：见 muster" in done.err


def test_wrong_usage_in_json(muster: Muster) -> None:
    error = json.loads(muster("list", "--json", "--xyzzy").out)["error"]
    assert error == {
        "code": "usage",
        "message": "No such option: --xyzzy",
        "fix": "see muster list --help",
    }


@pytest.mark.parametrize("arguments", [(), ("node",)])
def test_without_a_command_the_help_is_shown(muster: Muster, arguments: tuple[str, ...]) -> None:
    done = muster(*arguments)
    assert (done.code, done.err) == (2, "")
    assert "Usage: muster" in done.out


def test_without_a_muster_there_is_one_line_and_a_remedy(muster: Muster, tmp_path: Path) -> None:
    done = muster("list")
    assert done.code == 5
    first, second = done.err.splitlines()
    assert first == f"error: no Muster runs on state folder {tmp_path / '.muster'}"
    assert second.startswith("what to do: run `muster up`")
    assert muster("list", "--lang", "zh").err.startswith("错误：")


def test_errors_are_json_where_json_is_wanted(muster: Muster) -> None:
    done = muster("list", "--json")
    assert done.code == 5
    error = json.loads(done.out)["error"]
    assert error["code"] == "not_running"
    assert error["fix"]


def test_a_server_that_is_not_there_is_named_without_its_secrets(muster: Muster) -> None:
    url = "nats://topsecret@127.0.0.1:1"
    done = muster("list", MUSTER_NATS_URL=url)
    assert done.code == 5
    assert "cannot be reached" in done.err
    assert "topsecret" not in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in muster("list", "--debug").err


def test_init_writes_once(muster: Muster, tmp_path: Path) -> None:
    assert json.loads(muster("init", "--json").out) == {"wrote": ["job.yaml", "nodes.yaml"]}
    (tmp_path / "job.yaml").write_text("mine")
    second = muster("init")
    assert second.code == 1
    assert "job.yaml" in second.err
    assert (tmp_path / "job.yaml").read_text() == "mine"
    assert muster("init", "--force", "--lang", "zh").code == 0
    assert "训练任务" in (tmp_path / "job.yaml").read_text()


def test_a_broken_file_of_nodes_stops_the_start(muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("- {name: a, gpus: -1}\n- {nam: b}\n")
    done = muster("up")
    assert done.code == 1
    assert "breaks 3 rule(s)" in done.err
    assert not (tmp_path / ".muster" / "nats" / "nats-server.pid").exists()


def test_the_version_in_words_and_in_json(muster: Muster) -> None:
    assert muster("--version").out.startswith("muster ")
    assert "python" in json.loads(muster("version", "--json").out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(muster: Muster, shell: str) -> None:
    assert "_MUSTER_COMPLETE" in muster("completion", shell).out


def test_down_where_nothing_runs_is_no_error(muster: Muster, tmp_path: Path) -> None:
    done = muster("down")
    assert done.code == 0
    assert "no Muster was running" in done.out
    assert not (tmp_path / ".muster").exists()


def test_doctor_without_a_muster_finds_that_problem(muster: Muster) -> None:
    done = muster("doctor", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    bad = [f["check"] for f in found["findings"] if f["severity"] == "problem"]
    assert bad == ["server.none"]
    assert all(f["remedy"] for f in found["findings"] if f["severity"] != "fine")
