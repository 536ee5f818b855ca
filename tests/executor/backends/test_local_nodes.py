"""Where the local backend's nodes come from, and what is said about a file that is wrong."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.domain.errors import Temporary
from muster.domain.nodes import ForeignUse, Taint, TaintEffect
from muster.executor.backends.local import (
    InvalidNodes,
    LocalBackend,
    default_nodes,
    load_nodes,
    virtual_nodes,
)

MORE = """
- name: gpu-1
  gpus: 4
  labels: {topology.example.com/switch: s1}
  extended: {rdma: 2}
  taints: [{key: dedicated, value: vision}, {key: slow, effect: PreferNoSchedule}]
  foreign: {gpus: 1, cpus: 0.5, memory_mib: 100}
"""

GOOD = """
- {name: gpu-1, gpus: 8, gpu_model: A100, cpus: 64, memory_mib: 512000, labels: {rack: r1}}
- {name: gpu-2, gpus: 2, spot: true, zone: b, devices: ["4", "5"], reclaim_at: 2031-05-06T07:08:09Z}
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


async def test_nodes_are_shown_as_the_file_has_them(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "state", write(tmp_path / "nodes.yaml", GOOD))
    first, second = await backend.nodes()
    assert (first.node, first.gpus, first.gpu_model, first.cpus) == ("gpu-1", 8, "A100", 64.0)
    assert (first.memory_mib, first.labels, first.spot) == (512_000, {"rack": "r1"}, False)
    assert (second.spot, second.zone) == (True, "b")
    assert second.reclaim_at == datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


async def test_a_node_has_taints_other_resources_and_foreign_use(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "state", write(tmp_path / "nodes.yaml", MORE))
    (node,) = await backend.nodes()
    assert node.taints == (
        Taint(key="dedicated", value="vision"),
        Taint(key="slow", effect=TaintEffect.PREFER_NO_SCHEDULE),
    )
    assert (node.extended, node.labels) == ({"rdma": 2}, {"topology.example.com/switch": "s1"})
    assert node.foreign == ForeignUse(gpus=1, cpus=0.5, memory_mib=100)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("- {gpus: 1}", "$[0].name", "is required; add it"),
        ("- {name: a, gpu: 1}", "$[0].gpu", "is not a field of a node; remove it"),
        ("- {name: a, gpus: -1}", "$[0].gpus", "must be at least 0; raise it"),
        ("- {name: a, cpus: 0}", "$[0].cpus", "must be greater than 0"),
        ("- {name: a, gpus: '2'}", "$[0].gpus", "must be a whole number; write it without quotes"),
        ("- {name: a.b}", "$[0].name", "choose another name"),
        ("- {name: 7}", "$[0].name", "must be a text; put it in quotes"),
        ("- {name: a, spot: 3}", "$[0].spot", "must be true or false"),
        ("- {name: a, gpus: 2, devices: ['0']}", "$[0]", "do not name each of its 2 GPU(s) once"),
        ("- {name: a, reclaim_at: 2031-05-06T07:08:09}", "$[0].reclaim_at", "add Z for UTC"),
        ("- {name: a}\n- {name: a}", "$", "name a is given to more than one node"),
        ("nodes: 3", "$", "must be a list of nodes"),
        ("- {name: a, taints: [{value: b}]}", "$[0].taints[0].key", "is required; add it"),
        ("- {name: a, taints: [{key: ''}]}", "$[0].taints[0].key", "at least 1 character"),
        (f"- {{name: a, taints: [{{key: {'k' * 318}}}]}}", "$[0].taints[0].key", "at most 317"),
        (
            "- {name: a, taints: [{key: b, effect: Never}]}",
            "$[0].taints[0].effect",
            "must be one of 'NoSchedule'",
        ),
        ("- {name: a, foreign: {gpus: -1}}", "$[0].foreign.gpus", "must be at least 0"),
        ("- {name: a, extended: {rdma: -1}}", "$[0].extended.rdma", "must be at least 0"),
        ("- {name: a, labels: 7}", "$[0].labels", "must be names with values"),
        ("- a", "$[0]", "must be a node with fields"),
        ("- {name: a", "$", "is not valid YAML"),
    ],
)
def test_an_error_names_field_rule_and_remedy(
    tmp_path: Path, text: str, path: str, words: str
) -> None:
    file = write(tmp_path / "nodes.yaml", text)
    with pytest.raises(InvalidNodes) as invalid:
        load_nodes(file)
    (violation,) = invalid.value.violations
    assert violation.path == path
    assert words in violation.en
    assert not violation.zh.isascii()
    assert str(file) in str(invalid.value)


def test_every_error_is_named_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "nodes.yaml", "- {name: a, gpus: -1}\n- {cpus: 2}\n")
    with pytest.raises(InvalidNodes) as invalid:
        load_nodes(file)
    assert [each.path for each in invalid.value.violations] == ["$[0].gpus", "$[1].name"]


async def test_an_edit_counts_at_once_and_a_broken_one_removes_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / "nodes.yaml", "- {name: a}")
    backend = LocalBackend(tmp_path / "state", file)
    assert [node.node for node in await backend.nodes()] == ["a"]
    write(file, "- {name: a}\n- {name: b}")
    assert [node.node for node in await backend.nodes()] == ["a", "b"]
    write(file, "- {name: }\n- 7")
    with pytest.raises(Temporary, match=r"\$\[0\].name"):
        await backend.nodes()
    write(file, "- {name: c}")
    assert [node.node for node in await backend.nodes()] == ["c"]


async def test_a_broken_file_at_the_first_reading_is_an_error_of_its_own(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "state", write(tmp_path / "nodes.yaml", "7"))
    with pytest.raises(InvalidNodes):
        await backend.nodes()


def test_a_machine_without_gpus_has_virtual_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nodes = default_nodes()
    assert len(nodes) >= 2  # room for a gang that spans nodes
    assert {node.gpu_model for node in nodes} == {"virtual"}
    assert all(node.cpus >= node.gpus > 0 and node.memory_mib >= 1024 for node in nodes)


def test_a_machine_with_gpus_is_one_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write(
        tmp_path / "nvidia-smi",
        "#!/bin/sh\n"
        "echo 'GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1f2e)'\n"
        "echo 'GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-3d4c)'\n",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (node,) = default_nodes()
    assert (node.gpus, node.gpu_model) == (2, "NVIDIA A100-SXM4-80GB")


def test_an_nvidia_smi_that_fails_means_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: X'\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert {node.gpu_model for node in default_nodes()} == {"virtual"}


def test_virtual_nodes_can_be_asked_for() -> None:
    nodes = virtual_nodes(3, gpus=8)
    assert [(node.name, node.gpus) for node in nodes] == [
        ("node-1", 8),
        ("node-2", 8),
        ("node-3", 8),
    ]
