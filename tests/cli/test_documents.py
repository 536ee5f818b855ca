"""Reading jobs from YAML: what is accepted, what is refused, and on which line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from muster.cli.documents import change, read_documents
from muster.cli.errors import CliError, Refusal
from muster.cli.samples import JOB_FILE, NODES_FILE, SAMPLES
from muster.cli.specs import read_jobs
from muster.executor.backends.local import load_nodes

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
GOOD = """\
name: good
image: python:3.11
command: [python, -c, pass]
resource: {type: on_demand, replicas: 2}
"""


def _file(folder: Path, text: str) -> str:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_several_jobs_may_stand_in_one_file(tmp_path: Path) -> None:
    text = f"---\n{GOOD}---\n{GOOD.replace('good', 'better')}---\n"
    assert [job.name for job in read_jobs(_file(tmp_path, text))] == ["good", "better"]


def test_dates_stay_text(tmp_path: Path) -> None:
    (document,) = read_documents(_file(tmp_path, "command: [2026-01-31]"))
    assert document.value == {"command": ["2026-01-31"]}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("name: a\nimage: b\nname: c\n", "yaml", "line 3: name is given twice"),
        ("resource:\n  type: spot\n  type: idle\n", "yaml", "line 3: type is given twice"),
        ("name: [a\nb: c\n", "yaml", "line 2"),
        ("- name: a\n", "yaml", "line 1: a job is a mapping"),
        ("just words\n", "yaml", "line 1: a job is a mapping"),
        ("", "no_documents", "holds no job"),
        ("---\n---\n", "no_documents", "holds no job"),
    ],
)
def test_what_is_no_job_is_refused_with_its_line(
    tmp_path: Path, text: str, code: str, words: str
) -> None:
    with pytest.raises(CliError, match=words) as caught:
        read_jobs(_file(tmp_path, text))
    assert caught.value.code == code


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CliError, match=r"nowhere\.yaml") as caught:
        read_documents("nowhere.yaml")
    assert caught.value.code == "file_read"


def test_every_violation_of_every_job_comes_with_its_line(tmp_path: Path) -> None:
    text = (
        GOOD + "---\nname: X\nimage: i\ncommand: []\nresource:\n  type: spot\n  guarantee: true\n"
    )
    with pytest.raises(Refusal) as caught:
        read_jobs(_file(tmp_path, text + "---\n" + GOOD + "labells: {}\n"))
    found = [
        (each.code, each.path, each.en.split(": ")[0][-3:]) for each in caught.value.violations
    ]
    assert found == [
        ("E_NAME_INVALID", "$.spec.name", "l:6"),
        ("E_COMMAND", "$.spec.command", "l:8"),
        ("E_UNKNOWN_FIELD", "$.spec.labells", ":17"),
    ]


def test_rules_over_several_fields_are_checked_as_admission_checks_them(tmp_path: Path) -> None:
    text = GOOD.replace("on_demand", "spot").replace("2}", "2, guarantee: true}")
    with pytest.raises(Refusal) as caught:
        read_jobs(_file(tmp_path, text))
    assert [each.code for each in caught.value.violations] == ["E_SPOT_GUARANTEE"]


def test_a_field_that_is_missing_points_at_what_should_have_it(tmp_path: Path) -> None:
    (document,) = read_documents(_file(tmp_path, GOOD))
    assert document.line_of("$.spec.resource.pool") == 4
    assert document.line_of("$.spec.image.x[3]") == 2
    assert document.line_of("$.else") is None


def test_changes_from_the_command_line(tmp_path: Path) -> None:
    changes = ("resource.replicas=4", "labels.team=nlp", "command.2=print(1)", "command.3=x")
    (job,) = read_jobs(_file(tmp_path, GOOD), name="other", changes=changes)
    assert job.spec.name == "other"
    assert job.spec.resource.replicas == 4
    assert job.spec.labels == {"team": "nlp"}
    assert job.spec.command == ("python", "-c", "print(1)", "x")


@pytest.mark.parametrize(
    "text", ["resource", "=1", "a..b=1", "name.x=1", "command.9=1", "command.x=1", "name=[1"]
)
def test_a_change_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(CliError) as caught:
        change({"name": "a", "command": ["b"]}, text)
    assert caught.value.code == "set"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_valid(path: Path) -> None:
    assert read_jobs(str(path))


@pytest.mark.parametrize("language", [0, 1])
def test_what_init_writes_is_valid(tmp_path: Path, language: int) -> None:
    nodes = tmp_path / NODES_FILE
    nodes.write_text(SAMPLES[NODES_FILE][language], encoding="utf-8")
    assert [node.spot for node in load_nodes(nodes)] == [False, False, True]
    assert [job.name for job in read_jobs(_file(tmp_path, SAMPLES[JOB_FILE][language]))] == [
        "hello"
    ]


def test_standard_input_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("name: BAD\n"))
    with pytest.raises(Refusal, match=r"^standard input breaks") as refused:
        read_jobs("-")
    assert "standard input:1: " in refused.value.violations[0].en
    monkeypatch.setattr(sys, "stdin", io.StringIO("- x\n"))
    with pytest.raises(CliError, match="standard input is not YAML"):
        read_jobs("-")
