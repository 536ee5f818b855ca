"""`muster diagnose`: a verdict from files, in both languages, and the check of a site's rules."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from muster.cli.main import main

IMPORT = """\
Traceback (most recent call last):
  File "/w/train.py", line 3, in <module>
    import nothing
ModuleNotFoundError: No module named 'nothing'
"""
ABORTED = "RuntimeError: NCCL communicator was aborted on rank 0\n"
GOOD = """\
rules:
  - id: site.quota
    scope: log
    blame: storage
    action: hold
    what: {en: The quota is used up., zh: 配额已用尽。}
    pattern: 'quota service: refused'
    examples: ['quota service: refused for li']
    near_misses: ['quota service: accepted']
    advice: {en: Ask for more., zh: 请申请更多配额。}
"""


class Run:
    """Runs the command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        self._patch.setenv("MUSTER_LANG", "en")
        self._patch.setattr(sys, "argv", ["muster", "diagnose", *arguments])
        self._patch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        return int(ended.value.code or 0), out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


def log(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_rank_with_the_cause_is_the_first_and_the_advice_names_the_field(
    tmp_path: Path, run: Run
) -> None:
    files = [log(tmp_path, "rank0.log", ABORTED), log(tmp_path, "rank3.log", IMPORT)]
    code, out, _ = run(*files)
    assert code == 0
    assert "py.import: A module or a name in it cannot be imported." in out
    assert f"worker-3 ({files[1]})" in out
    assert "(field: image)" in out
    assert "rank0.log:1" in out


def test_it_speaks_chinese(tmp_path: Path, run: Run) -> None:
    _, out, _ = run("--lang", "zh", log(tmp_path, "rank3.log", IMPORT))
    assert "无法导入模块或其中的名称。" in out
    assert "最先失败" in out


def test_the_standard_input_is_read_and_json_has_everything(run: Run) -> None:
    code, out, _ = run("-", "--json", typed=f"{ABORTED}{IMPORT}")
    told = json.loads(out)
    assert code == 0
    assert told["diagnosis"]["rule"] == "py.import"
    assert told["diagnosis"]["action"] == "stop"
    assert [(hit["rule"], hit["line"], hit["role"]) for hit in told["hits"]] == [
        ("nccl.aborted", 1, "cascade"),
        ("py.import", 5, "root"),
    ]


def test_the_kernel_of_the_node_is_evidence(tmp_path: Path, run: Run) -> None:
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python, GPU has fallen off the bus."
    kernel = log(tmp_path, "dmesg.txt", f"[12.345678] eth0: link up\n[99.000001] {xid}\n")
    _, out, _ = run("-", "--kernel", kernel, "--json", typed="step 7\n")
    told = json.loads(out)
    assert told["diagnosis"]["blame"] == "hardware"
    assert ("xid.machine", 79) in [(hit["rule"], hit["code"]) for hit in told["hits"]]


@pytest.mark.parametrize(
    ("code", "telling"), [("127", True), ("1", False)], ids=["telling", "not telling"]
)
def test_the_exit_code_is_evidence(run: Run, code: str, telling: bool) -> None:
    _, out, _ = run("-", "--exit-code", code, "--json", typed="starting\n")
    evidence = json.loads(out)["diagnosis"]["evidence"]
    assert ("exit.not_found" in [line["rule"] for line in evidence]) is telling


def test_what_nothing_explains_is_unknown(run: Run) -> None:
    _, out, _ = run("-", typed="step 1\nbye\n")
    assert "unknown: no rule explains it" in out


def test_the_stage_can_be_said(run: Run) -> None:
    late = "KeyError: 'x'\n"
    _, early, _ = run("-", "--stage", "init", "--json", typed=late)
    _, trained, _ = run("-", "--stage", "train", "--json", typed=late)
    assert json.loads(early)["diagnosis"]["action"] == "stop"
    assert json.loads(trained)["diagnosis"]["action"] == "retry_once"


@pytest.mark.parametrize(
    ("names", "workers"),
    [
        (["rank3.log", "rank10.log"], ["worker-3", "worker-10"]),
        (["job-7-worker-2.txt", "b.txt"], ["worker-0", "worker-2"]),
        (["a.log", "b.log"], ["worker-0", "worker-1"]),
        (["rank1.a.log", "rank1.b.log"], ["worker-0", "worker-1"]),
    ],
)
def test_names_of_files_tell_the_rank(
    tmp_path: Path, run: Run, names: list[str], workers: list[str]
) -> None:
    _, out, _ = run(*(log(tmp_path, name, "x\n") for name in names), "--json")
    assert [each["worker"] for each in json.loads(out)["files"]] == workers


def test_a_file_that_is_not_there_is_told(tmp_path: Path, run: Run) -> None:
    code, _, err = run(str(tmp_path / "none.log"))
    assert code == 1
    assert "none.log" in err


@pytest.mark.parametrize("option", [[], ["--kernel"]])
@pytest.mark.parametrize(("language", "says"), [("en", "the log of a rank"), ("zh", "日志")])
def test_the_remedy_for_a_log_that_cannot_be_read_speaks_of_logs(
    tmp_path: Path, run: Run, option: list[str], language: str, says: str
) -> None:
    _, _, err = run("--lang", language, "-", *option, str(tmp_path / "none.log"), typed="x\n")
    assert says in err
    assert "YAML" not in err


@pytest.mark.parametrize(("language", "says"), [("en", "is no failure"), ("zh", "并未失败")])
def test_what_ended_well_is_not_judged(run: Run, language: str, says: str) -> None:
    code, out, err = run("--lang", language, "-", "--exit-code", "0", typed="done\n")
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "is empty"), (b" \n\n", "is empty"), (b"\x7fELF\x00\x01\x02\xff" * 99, "is not text")],
)
def test_a_log_that_can_tell_nothing_is_said_to(
    tmp_path: Path, run: Run, content: bytes, says: str
) -> None:
    path = tmp_path / "rank0.log"
    path.write_bytes(content)
    code, out, err = run(str(path))
    assert code == 0
    assert f"{path} {says}" in err
    assert "unknown" in out


def test_nothing_is_said_of_a_log_with_a_byte_that_is_none(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "rank0.log"
    path.write_bytes(b"\xff" + IMPORT.encode())
    _, _, err = run(str(path))
    assert err == ""


def test_bytes_that_are_no_text_do_not_matter(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "rank0.log"
    path.write_bytes(b"\xff\xfe\x00" + IMPORT.encode())
    _, out, _ = run(str(path))
    assert "py.import" in out


def test_naming_nothing_is_wrong_usage(run: Run) -> None:
    code, _, err = run()
    assert code == 2
    assert "--rules lists the rules" in err


def test_the_rules_are_listed(run: Run) -> None:
    _, out, _ = run("--rules", "--json")
    told = json.loads(out)
    assert len(told["rules"]) >= 220
    assert {"rule", "what", "advice", "pattern", "blame"} <= told["rules"][0].keys()
    _, out, _ = run("--rules")
    assert "gpu.oom" in out


def test_a_sound_folder_passes_the_check_and_takes_part(tmp_path: Path, run: Run) -> None:
    log(tmp_path, "site.yaml", GOOD)
    code, out, _ = run("--check", str(tmp_path))
    assert code == 0
    assert "no fault" in out
    _, out, _ = run("-", "--rules-dir", str(tmp_path), typed="quota service: refused for li\n")
    assert "site.quota: The quota is used up." in out


@pytest.mark.parametrize(("language", "says"), [("en", "must be one of stop"), ("zh", "须为 stop")])
def test_every_fault_of_a_folder_is_told_and_fails(
    tmp_path: Path, run: Run, language: str, says: str
) -> None:
    log(tmp_path, "site.yaml", GOOD.replace("hold", "explode").replace("refused'", "no'"))
    code, _, err = run("--lang", language, "--check", str(tmp_path))
    assert code == 1
    assert says in err
    assert err.count("site.yaml: site.quota: ") == 2
    code, out, _ = run("--check", str(tmp_path), "--json")
    assert code == 1
    assert [fault["field"] for fault in json.loads(out)["faults"]] == ["action", "examples"]


def test_rules_with_faults_are_not_used_to_judge(tmp_path: Path, run: Run) -> None:
    log(tmp_path, "site.yaml", GOOD.replace("hold", "explode"))
    code, _, err = run("-", "--rules-dir", str(tmp_path), typed="x\n")
    assert code == 1
    assert "--check" in err


def test_long_lists_are_cut_for_people_and_whole_for_programs(run: Run) -> None:
    many = "ConnectionResetError: Connection reset by peer\n" * 50
    _, out, _ = run("-", typed=many)
    assert "10 more: --json shows them all" in out
    _, out, _ = run("-", "--json", typed=many)
    assert len(json.loads(out)["hits"]) == 50


@pytest.mark.parametrize("name", ["nothing", "site.yaml"])
def test_the_check_wants_a_folder_and_says_so(tmp_path: Path, run: Run, name: str) -> None:
    log(tmp_path, "site.yaml", GOOD)
    code, _, err = run("--check", str(tmp_path / name))
    assert code == 1
    assert "name the folder that holds the YAML files" in err
    assert "UTF-8" not in err


def test_a_folder_without_rules_does_not_pass_the_check(tmp_path: Path, run: Run) -> None:
    log(tmp_path, "site.yml", GOOD)
    code, _, err = run("--check", str(tmp_path))
    assert code == 1
    assert "has no file of rules" in err
    assert "site.yml: -: - is not read" in err


def test_the_check_tells_every_fault_at_once(tmp_path: Path, run: Run) -> None:
    broken = GOOD.replace("hold", "explode")
    log(tmp_path, "a.yaml", broken + broken.removeprefix("rules:\n"))
    log(tmp_path, "b.yaml", "rules: [")
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")
    log(tmp_path, "d.yaml", "rules:\n  - {id: nope.absent, disabled: true}\n")
    _, out, _ = run("--check", str(tmp_path), "--json")
    told = [(f["file"], f["field"]) for f in json.loads(out)["faults"]]
    assert sorted(told) == [
        ("a.yaml", "action"),
        ("a.yaml", "action"),
        ("a.yaml", "id"),
        ("b.yaml", "-"),
        ("c.yaml", "-"),
        ("d.yaml", "disabled"),
    ]
