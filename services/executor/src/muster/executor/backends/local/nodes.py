"""The nodes that the local backend pretends to have, or really has.

They come from `nodes.yaml` (a list; `NodeConfig` has the fields), or are made from this machine:
one node with its real GPUs where `nvidia-smi` shows some, else a few virtual ones. The file may be
edited while the executor runs; a broken edit never removes a node.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from muster.domain.errors import Permanent, Temporary
from muster.domain.model import Strict, Token
from muster.domain.nodes import ForeignUse, Taint, TaintEffect
from muster.domain.violations import Violation
from muster.executor.backends import NodeFacts
from muster.executor.backends.local.node_errors import violations_of

VIRTUAL_GPUS = 4
VIRTUAL_MODEL = "virtual"
_REAL_GPU = re.compile(r"^GPU \d+: (?P<model>.+?)(?: \(UUID: .*\))?$")


Key = Annotated[str, Field(min_length=1, max_length=317)]
Count = Annotated[int, Field(ge=0)]


class TaintConfig(Strict):
    """A mark that keeps work off the node unless the job tolerates it."""

    key: Key
    value: str = ""
    effect: Annotated[TaintEffect, Field(strict=False)] = TaintEffect.NO_SCHEDULE


class ForeignConfig(Strict):
    """What others take of the node, to see what Muster makes of it: nothing here measures it."""

    gpus: Count = 0
    cpus: float = Field(default=0, ge=0)
    memory_mib: Count = 0
    extended: dict[str, Count] = Field(default_factory=dict)


class NodeConfig(Strict):
    """One entry of `nodes.yaml`. Amounts: whole GPUs, CPU cores, MiB of memory.

    extended: amounts of other resources by name. labels: their keys are levels of locality.
    devices: what CUDA_VISIBLE_DEVICES calls each GPU of this node, if not 0, 1, 2, ...
    reclaim_at: pretend that the node's owner announced to take it back then.
    kernel_log: file with what its kernel said, in the form of `dmesg --time-format iso`; without
    one, it is what this machine's kernel said of Muster's own workers there.
    """

    name: Token
    gpus: int = Field(default=0, ge=0)
    gpu_model: str = VIRTUAL_MODEL
    cpus: float = Field(default=1, gt=0)
    memory_mib: int = Field(default=1024, gt=0)
    spot: bool = False
    zone: str = "default"
    labels: dict[str, str] = Field(default_factory=dict)
    extended: dict[str, Count] = Field(default_factory=dict)
    taints: Annotated[tuple[TaintConfig, ...], Field(strict=False)] = ()
    foreign: ForeignConfig | None = None
    devices: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    reclaim_at: AwareDatetime | None = None
    kernel_log: Annotated[Path, Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _a_device_for_each_gpu(self) -> NodeConfig:
        if self.devices is not None and len(set(self.devices)) != self.gpus:
            raise PydanticCustomError("devices", "devices", {"gpus": self.gpus})
        return self

    def facts(self) -> NodeFacts:
        """Return the node as the port shows it."""
        plain = self.model_dump(exclude={"name", "devices", "taints", "foreign", "kernel_log"})
        return NodeFacts(
            **plain,
            node=self.name,
            taints=tuple(Taint(**taint.model_dump()) for taint in self.taints),
            foreign=ForeignUse(**self.foreign.model_dump()) if self.foreign else None,
        )

    def visible(self, slots: Sequence[int]) -> str:
        """Return the value of CUDA_VISIBLE_DEVICES for these GPUs of the node."""
        names = self.devices or tuple(str(number) for number in range(self.gpus))
        return ",".join(names[slot] for slot in slots)


class InvalidNodes(Permanent):
    """`nodes.yaml` breaks a rule. `violations` has every one, each with field, rule and remedy."""

    def __init__(self, path: Path, violations: Sequence[Violation]) -> None:
        super().__init__("\n".join([f"{path}:", *(f"  {v.path}: {v.en}" for v in violations)]))
        self.violations = tuple(violations)


_LIST = TypeAdapter(list[NodeConfig])


def load_nodes(path: Path) -> tuple[NodeConfig, ...]:
    """Read the file. Raises InvalidNodes, and OSError if it cannot be read."""
    try:
        nodes = _LIST.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise InvalidNodes(path, violations_of(error)) from error
    twice = [name for name, count in Counter(node.name for node in nodes).items() if count > 1]
    if twice:
        raise InvalidNodes(path, [_TWICE.model_copy(update=_named(name)) for name in twice])
    return tuple(nodes)


_TWICE = Violation(code="DUPLICATE", path="$", en="", zh="")


def _named(name: str) -> dict[str, str]:
    return {
        "en": f"name {name} is given to more than one node; rename all but one",
        "zh": f"名称 {name} 被多个节点使用；请保留一个，其余改名",
    }


class NodesFile:
    """Follows `nodes.yaml`: the last valid content counts until there is a better one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version: tuple[int, int, int] | None = None
        self._nodes: tuple[NodeConfig, ...] = ()

    def read(self) -> tuple[NodeConfig, ...]:
        """Return the nodes as the file has them now.

        Raises InvalidNodes at the first reading, later Temporary: no node is lost by a typo.
        """
        try:
            found = self._path.stat()
            version = (found.st_ino, found.st_mtime_ns, found.st_size)
            if version != self._version:
                self._nodes = load_nodes(self._path)
                self._version = version
        except (OSError, InvalidNodes) as error:
            if self._version is None:
                raise
            raise Temporary(str(error), delay=5.0) from error
        return self._nodes


def default_nodes() -> tuple[NodeConfig, ...]:
    """Return this machine's GPUs as one node; without any, virtual nodes."""
    models = real_gpus()
    if not models:
        return virtual_nodes(max(2, min(8, _cores() // 2)))
    return (
        NodeConfig(
            name="local",
            gpus=len(models),
            gpu_model=models[0],
            cpus=_cores(),
            memory_mib=_memory_mib(),
        ),
    )


def virtual_nodes(count: int, gpus: int = VIRTUAL_GPUS) -> tuple[NodeConfig, ...]:
    """Share this machine between `count` nodes, each with at least a core for every GPU."""
    cpus = max(gpus, _cores() // count, 1)
    memory_mib = max(1024, _memory_mib() // count)
    return tuple(
        NodeConfig(name=f"node-{number}", gpus=gpus, cpus=cpus, memory_mib=memory_mib)
        for number in range(1, count + 1)
    )


def real_gpus() -> tuple[str, ...]:
    """Return the model of each GPU that `nvidia-smi -L` lists; none if it is not there or fails."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        shown = subprocess.run(
            [program, "-L"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(
        found["model"] for line in shown.stdout.splitlines() if (found := _REAL_GPU.match(line))
    )


def _cores() -> int:
    return os.cpu_count() or 1


def _memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
