"""Files of a replay: what is read, and what is said of a cell that breaks a rule."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.cli import texts
from muster.cli.errors import CliError, Refusal
from muster.cli.simulation.replay import capacity_files
from muster.cli.simulation.replay.capacity import Happens
from muster.cli.simulation.replay.settings import policy_with
from muster.cli.simulation.replay.workload import Cut, read, with_spot
from muster.scheduler.core.policy import Order
from tests.cli.replays import JOBS, TWO_NODES, loaded, write


def _refused(folder: Path, rows: Iterable[str], **more: str) -> list[tuple[str, str, str]]:
    with pytest.raises(Refusal) as refusal:
        loaded(write(folder, rows, **more))
    return [
        (each.path.removeprefix(f"{folder}/"), each.code, each.en)
        for each in refusal.value.violations
    ]


def test_a_row_is_read_with_what_it_leaves_out(tmp_path: Path) -> None:
    rows = ["x,5,60,2,8,V100|A100,spot,0", "y,0,1.5,1,0.46,,,"]
    second, first = loaded(write(tmp_path, rows)).rows[::-1]
    assert (first.job_id, first.milli, first.gpus, first.qos) == ("y", 460, 0, "on_demand")
    assert (first.priority, first.gpu_model, first.duration_s) == (None, None, 1.5)
    assert (second.gpus, second.gpu_model, second.priority) == (8, "V100|A100", 1)
    assert (second.gpu_count, second.qos) == (16, "spot")


def test_times_jobs_and_nodes_may_be_cut_and_stretched(tmp_path: Path) -> None:
    write(tmp_path, ["a,0,9,1,1,,,", "b,10,9,1,1,,spot,3", "c,20,,1,1,,,"])
    cut = loaded(tmp_path, time=0.5, jobs=2, nodes=5, duration_s=7, one_class=True)
    assert [row.submit_s for row in cut.rows] == [0, 5]
    assert {(row.qos, row.priority) for row in cut.rows} == {("on_demand", None)}
    assert list(cut.nodes) == ["n1", "n2", "n1+1", "n2+1", "n1+2"]
    assert list(loaded(tmp_path, nodes=1, duration_s=7).nodes) == ["n1"]


@pytest.mark.parametrize(
    ("row", "column", "code", "words"),
    [
        (",0,9,1,1,,,", "job_id", "REPLAY_EMPTY", "write a value"),
        ("x,-1,9,1,1,,,", "submit_s", "REPLAY_NUMBER", "from 0 to 3.1536e+08, not '-1'"),
        ("x,nan,9,1,1,,,", "submit_s", "REPLAY_NUMBER", "not 'nan'"),
        ("x,0,,1,1,,,", "duration_s", "REPLAY_NUMBER", "must be a number"),
        ("x,0,9,1.5,1,,,", "workers", "REPLAY_WHOLE", "whole number from 1 to 4096"),
        ("x,0,9,0,1,,,", "workers", "REPLAY_NUMBER", "from 1 to 4096, not '0'"),
        ("x,0,9,1,1.5,,,", "gpus_per_worker", "REPLAY_SHARE", "a share of one card"),
        ("x,0,9,1,1,,bulk,", "qos", "REPLAY_WORD", "guaranteed, on_demand, spot, idle"),
        ("x,0,9,1,1,,,high", "priority", "REPLAY_NUMBER", "from 0 to 98"),
    ],
)
def test_a_cell_that_breaks_a_rule_is_named_with_the_remedy(
    tmp_path: Path, row: str, column: str, code: str, words: str
) -> None:
    (found,) = _refused(tmp_path, ["ok,0,9,1,1,,,", row])
    assert found[:2] == (f"jobs.csv:3:{column}", code)
    assert words in found[2]


def test_every_broken_rule_is_told_at_once_but_not_without_end(tmp_path: Path) -> None:
    found = _refused(tmp_path, ["x,0,9,1,1,,,", "x,0,9,0,1,,,", "y,0,9,1"])
    assert [each[:2] for each in found] == [
        ("jobs.csv:3:job_id", "REPLAY_DOUBLE"),
        ("jobs.csv:3:workers", "REPLAY_NUMBER"),
        ("jobs.csv:4", "REPLAY_CELLS"),
    ]
    assert len(_refused(tmp_path, [f"x{n},,,," for n in range(99)])) <= 21


def test_a_header_is_held_to_its_columns(tmp_path: Path) -> None:
    found = _refused(tmp_path, [], header="job_id,submit_s,duration_s,workers,gpu,gpu")
    assert [(path, code) for path, code, _ in found] == [
        ("jobs.csv:1:gpus_per_worker", "REPLAY_MISSING"),
        ("jobs.csv:1:gpu", "REPLAY_UNKNOWN"),
        ("jobs.csv:1:gpu", "REPLAY_TWICE"),
    ]


def test_only_what_the_file_says_is_shortened(tmp_path: Path) -> None:
    (found,) = _refused(tmp_path, [f"x,0,{'9' * 60}x,1,1,,,"])
    assert f"'{'9' * 39}…'" in found[2]
    found, *_ = _refused(tmp_path, [], header="job_id,submit_s,duration_s,workers")
    assert found[2].endswith("job_id, submit_s, duration_s, workers, gpus_per_worker")
    *_, found = _refused(tmp_path, [], header=f"{','.join(JOBS.split(','))},{'c' * 60}")
    assert found[0] == f"jobs.csv:1:{'c' * 39}…"
    assert "final_state" in found[2]


def test_a_file_without_a_header_breaks_one_rule(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "jobs.csv").write_text("")
    with pytest.raises(Refusal) as refusal:
        loaded(tmp_path)
    (found,) = refusal.value.violations
    assert (found.code, found.path) == ("REPLAY_HEADER", f"{tmp_path}/jobs.csv:1")
    assert "gpus_per_worker" in found.en
    assert "gpus_per_worker" in found.zh


def test_what_is_wrong_is_said_in_chinese_too(tmp_path: Path) -> None:
    texts.use("zh")
    with pytest.raises(Refusal) as refusal:
        loaded(write(tmp_path, ["x,0,9,0,1,,,"]))
    assert "须为 1 到 4096 之间的数" in refusal.value.violations[0].zh
    assert "1 处" in str(refusal.value)


def test_a_cell_cannot_steer_the_terminal(tmp_path: Path) -> None:
    (found,) = _refused(tmp_path, ["x,0,9,\x1b[31m,1,,,"])
    assert "\x1b" not in found[2]


def test_a_missing_file_says_how_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="no file of jobs") as jobs:
        read(tmp_path, None, Cut())
    assert "jobs.csv" in jobs.value.fix
    write(tmp_path)
    (tmp_path / "nodes.csv").unlink()
    with pytest.raises(CliError, match="no file of nodes") as nodes:
        read(tmp_path, None, Cut())
    assert "--nodes" in nodes.value.fix


def test_a_file_without_lines_or_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="has no lines"):
        loaded(write(tmp_path, []))
    (tmp_path / "jobs.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CliError, match="cannot be read"):
        loaded(tmp_path)


def test_a_policy_is_set_by_name(tmp_path: Path) -> None:
    policy = policy_with(["order=sjf", "min_run_s=60", "levels=zone,rack"])
    assert (policy.order, policy.min_run_s, policy.levels) == (Order.SJF, 60, ("zone", "rack"))
    for wrong in ("order=lifo", "min_run_s=soon", "on_spot=spot", "order"):
        with pytest.raises(CliError, match="cannot be") as error:
            policy_with([wrong])
        assert "min_run_s" in error.value.fix


# --- capacity ----------------------------------------------------------------------------------

STEPS = "trace,t_s,capacity\nt,0,1\nt,100,0\nt,200,2\nt,300,end\nu,0,1\n"


def test_steps_of_spot_capacity_are_nodes_that_go_and_come(tmp_path: Path) -> None:
    file = tmp_path / "steps.csv"
    file.write_text(STEPS, encoding="utf-8")
    nodes = [*TWO_NODES, "n3,V100,4,,"]
    workload = with_spot(loaded(write(tmp_path, nodes=nodes)), 2)
    steps = capacity_files.spot_steps(file, "t", workload, 2.0)
    assert [(step.at_s, step.node, step.happens) for step in steps] == [
        (0, "n3", Happens.RECLAIM),
        (200, "n2", Happens.RECLAIM),
        (400, "n2", Happens.BACK),
        (400, "n3", Happens.BACK),
    ]
    with pytest.raises(CliError, match="several traces") as error:
        capacity_files.spot_steps(file, None, workload, 1.0)
    assert "t, u" in error.value.fix
    with pytest.raises(CliError, match="no node"):
        capacity_files.spot_steps(file, "t", loaded(tmp_path), 1.0)


def test_events_of_nodes_are_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("t_s,node,event\n9,n2,back\n3,n1,lost\n", encoding="utf-8")
    workload = loaded(write(tmp_path))
    steps = capacity_files.node_events(file, workload, 1.0)
    assert [(step.at_s, step.node, step.happens.value) for step in steps] == [
        (3, "n1", "lost"),
        (9, "n2", "back"),
    ]
    file.write_text("t_s,node,event\n9,n7,back\n3,n1,burns\n", encoding="utf-8")
    with pytest.raises(Refusal) as refusal:
        capacity_files.node_events(file, workload, 1.0)
    assert [each.code for each in refusal.value.violations] == ["REPLAY_NO_NODE", "REPLAY_WORD"]
