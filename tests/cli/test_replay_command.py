"""`muster simulate replay` as people call it: tables, JSON, a report, both languages, errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from muster.cli import main
from tests.cli.replays import FIVE, write

Muster = Callable[..., tuple[int, str, str]]


@pytest.fixture
def muster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Muster:
    """Run a command in this process, in an empty folder; returns code, output, errors."""
    monkeypatch.setenv("MUSTER_LANG", "en")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["muster", "simulate", "replay", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_figures_are_shown_in_tables(tmp_path: Path, muster: Muster) -> None:
    code, out, _ = muster(str(write(tmp_path / "w")), "--order", "fifo_skip", "--one-class")
    assert code == 0
    assert "5 jobs on 2 nodes with 8 GPUs: w" in out
    assert "93.75 %" in out
    assert "1m30s / 1m30s (c)" in out
    assert "on demand" in out


def test_figures_are_shown_in_chinese(tmp_path: Path, muster: Muster) -> None:
    _, out, _ = muster(str(write(tmp_path / "w")), "--lang", "zh")
    assert "5 个任务，2 个节点，8 张 GPU：w" in out
    assert "GPU 分配率" in out


def test_figures_are_one_document_for_programs(tmp_path: Path, muster: Muster) -> None:
    folder = str(write(tmp_path / "w"))
    arguments = (folder, "--json", "--order", "sjf", "--limits", "--policy", "min_run_s=5")
    documents = []
    for _ in range(2):
        code, out, _ = muster(*arguments)
        assert code == 0
        documents.append(json.loads(out))
        documents[-1].pop("run")
    assert documents[0] == documents[1]
    assert documents[0]["settings"]["policy"]["min_run_s"] == 5
    assert documents[0]["queue_s"]["all"] == {
        "jobs": 5,
        "mean": 32.0,
        "p50": 30.0,
        "p95": 90.0,
        "max": 90.0,
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--order", "sjf"], "needs to know how long jobs run"),
        (["--order", "lifo"], "one of default, fifo_spot, fifo, fifo_skip, sjf"),
        (["--placement", "best"], "one of default, fgd, best_fit, first_fit"),
        (["--auto-queue", "13h/3"], "like 12h/3"),
        (["--auto-queue", "3"], "like 12h/3"),
        (["--checkpoint-every", "often"], "a duration is like"),
        (["--policy", "order"], "--policy order cannot be"),
        (["--policy", "foo=1"], "the name foo is not known"),
        (["--policy", "foo=1"], "min_run_s"),
        (["--policy", "foo=1", "--lang", "zh"], "未知的名称 foo"),
        (["--spot", "steps.csv"], "no node of the workload is spot capacity"),
    ],
)
def test_wrong_options_are_told_with_what_would_be_right(
    tmp_path: Path, muster: Muster, options: list[str], words: str
) -> None:
    code, _, err = muster(str(write(tmp_path / "w")), *options)
    assert code != 0
    assert words in err


GIANT, LATE = "giant,15,5000,1,16,,,", "late,9000,5000,1,16,,,"


def test_a_job_that_never_fits_is_named_and_spoils_no_figure(
    tmp_path: Path, muster: Muster
) -> None:
    found = []
    for name, rows in (("w", FIVE), ("v", [*FIVE, GIANT, LATE])):
        code, out, _ = muster(str(write(tmp_path / name, rows)), "--json")
        assert code == 0
        found.append(json.loads(out))
    without, with_giants = found
    never = with_giants["never_fit"]
    assert never["jobs"] == 2
    assert [one["job"] for one in never["first"]] == ["giant", "late"]
    assert "of 1 workers with 16 GPU" in never["first"][0]["why"]
    assert without["never_fit"] == {"jobs": 0, "first": []}
    for key in without.keys() - {"run", "workload", "never_fit"}:
        assert without[key] == with_giants[key], key
    assert with_giants["workload"]["jobs"] == 7
    assert with_giants["workload"]["offered_load"] == without["workload"]["offered_load"]
    for lang, words in (("en", "never fit"), ("zh", "永远无法放置")):
        _, out, _ = muster(str(tmp_path / "v"), "--lang", lang)
        assert words in out
        assert "giant: " in out


def test_a_workload_of_which_nothing_fits_is_replayed_all_the_same(
    tmp_path: Path, muster: Muster
) -> None:
    code, out, _ = muster(str(write(tmp_path / "w", [GIANT])), "--json")
    assert code == 0
    assert json.loads(out)["never_fit"]["jobs"] == 1
    text = _report(muster, tmp_path / "w")
    assert "giant: of 1 workers" in text


def test_a_broken_file_is_told_line_by_line(tmp_path: Path, muster: Muster) -> None:
    folder = write(tmp_path / "w", [*FIVE, "f,0,1,none,1,,,"])
    code, _, err = muster(str(folder))
    assert code == 1
    assert f"{folder}/jobs.csv:7:workers" in err
    assert "docs/replay.md" in err
    code, out, _ = muster(str(folder), "--json")
    assert json.loads(out)["error"]["violations"][0]["code"] == "REPLAY_NUMBER"


# --- the report --------------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects what a page is made of, and complains of tags that are not closed in order."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [v or "" for k, v in attrs if k in {"href", "src", "xlink:href", "srcset"}]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _report(muster: Muster, folder: Path, *options: str) -> str:
    pytest.importorskip("matplotlib", reason="the report's plots need muster-cli[report]")
    file = folder.parent / "report.html"
    code, out, err = muster(str(folder), "--html", str(file), *options)
    assert code == 0, err
    assert str(file) in out
    return file.read_text(encoding="utf-8")


def test_a_report_holds_its_plots_and_asks_no_network(tmp_path: Path, muster: Muster) -> None:
    text = _report(muster, write(tmp_path / "w"))
    page = Page(text)
    assert page.tags.count("svg") == 4
    assert "script" not in page.tags
    assert all(link.startswith(("#", "data:image/")) for link in page.links)
    assert "://" not in text
    assert "url(#" in text
    words = "".join(page.text)
    for title in ("GPUs allocated, and jobs waiting", "Nodes over time", "Settings", "93.75 %"):
        assert title in words
    assert "policy.order" in words


def test_a_report_speaks_chinese(tmp_path: Path, muster: Muster) -> None:
    text = _report(muster, write(tmp_path / "w"), "--lang", "zh")
    assert '<html lang="zh">' in text
    assert "节点占用" in "".join(Page(text).text)


def test_names_in_a_report_are_text_and_nothing_else(tmp_path: Path, muster: Muster) -> None:
    evil = "<script>alert(1)</script>"
    nodes = [f"{evil},V100,4,,", "$\\bad$ & co,V100,4,,"]
    rows = [*FIVE[:2], '"<img src=x onerror=1>",0,900,2,4,,,']
    text = _report(muster, write(tmp_path / "<b>w", rows, nodes))
    page = Page(text)
    assert {"script", "img", "b"}.isdisjoint(page.tags)
    words = "".join(page.text)
    assert evil in words
    assert "$\\bad$ & co" in words
    assert "<img src=x onerror=1>" in words


def test_the_same_replay_draws_the_same_plots(tmp_path: Path, muster: Muster) -> None:
    def plots() -> Any:
        text = _report(muster, write(tmp_path / "w"))
        return text[text.index("<svg") : text.rindex("</svg>")]

    assert plots() == plots()


def test_without_the_library_a_report_is_refused_before_anything_is_replayed(
    tmp_path: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("page", "plots"):
        monkeypatch.delitem(sys.modules, f"muster.cli.simulation.replay.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = muster(str(write(tmp_path / "w")), "--html", "r.html")
    assert code == 1
    assert "muster-cli[report]" in err
    assert not Path("r.html").exists()
