"""What a backend will not start, and why, in words for the person who can change it.

A refusal means that nothing was started. `blames_job` tells the executor's handlers whether the
job's own specification is at fault (asking again is useless) or the cluster is not as planned.
Every backend raises these; none invents its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.errors import Permanent


class RefusalCode(StrEnum):
    """Stable and few: may be a metric label."""

    BAD_NAME = "BAD_NAME"
    BAD_COMMAND = "BAD_COMMAND"
    PROGRAM_NOT_FOUND = "PROGRAM_NOT_FOUND"
    WORKDIR_NOT_FOUND = "WORKDIR_NOT_FOUND"
    NODE_UNKNOWN = "NODE_UNKNOWN"
    NO_FREE_GPUS = "NO_FREE_GPUS"
    NO_FREE_SHARE = "NO_FREE_SHARE"

    @property
    def blames_job(self) -> bool:
        """Whether only a changed job can be started."""
        return self not in _CLUSTERS


_CLUSTERS = (RefusalCode.NODE_UNKNOWN, RefusalCode.NO_FREE_GPUS, RefusalCode.NO_FREE_SHARE)


_TEXTS: dict[RefusalCode, tuple[str, str]] = {
    RefusalCode.BAD_NAME: (
        "the name {name} cannot be used: letters, digits, '-' and '_', at most {limit} characters"
        " for job, attempt and worker together; choose a shorter or simpler name",
        "名称 {name} 不可用：只允许字母、数字、“-”和“_”，"
        "任务、尝试次数与 Worker 合计最多 {limit} 个字符；请使用更短或更简单的名称",
    ),
    RefusalCode.BAD_COMMAND: (
        "the command cannot be run: {why}; correct command or environment of the job",
        "命令无法执行：{why}；请修改任务的命令或环境变量",
    ),
    RefusalCode.PROGRAM_NOT_FOUND: (
        "program {program} was not found or may not be executed (looked in {where}); correct the"
        " command or install the program on the node",
        "找不到程序 {program} 或没有执行权限（查找位置：{where}）；"
        "请修改命令，或在节点上安装该程序",
    ),
    RefusalCode.WORKDIR_NOT_FOUND: (
        "the working directory {workdir} does not exist on the node; create it or choose another",
        "节点上不存在工作目录 {workdir}；请创建该目录或更换目录",
    ),
    RefusalCode.NODE_UNKNOWN: (
        "the cluster has no node {node} now",
        "集群中当前没有节点 {node}",
    ),
    RefusalCode.NO_FREE_GPUS: (
        "node {node} has {free} free GPU(s), {wanted} needed: earlier workers still hold the rest",
        "节点 {node} 空闲 GPU 为 {free} 个，需要 {wanted} 个：其余仍被先前的 Worker 占用",
    ),
    RefusalCode.NO_FREE_SHARE: (
        "node {node} has no GPU with {wanted} thousandths left for shared card {card}: earlier"
        " workers still hold them",
        "节点 {node} 没有 GPU 可为共享卡 {card} 提供 {wanted}/1000 的份额：仍被先前的 Worker 占用",
    ),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one worker cannot be started."""

    code: RefusalCode
    worker: str
    en: str
    zh: str


def refusal(code: RefusalCode, worker: str, **details: object) -> Refusal:
    """Fill in both texts of a code. Raises KeyError if a detail is missing."""
    en, zh = (text.format_map(details) for text in _TEXTS[code])
    return Refusal(code, worker, en, zh)


class Refused(Permanent):
    """Nothing of a launch was started. `refusals` has every reason, not only the first."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("; ".join(f"{each.worker}: {each.en}" for each in refusals))
        self.refusals = tuple(refusals)

    @property
    def zh(self) -> str:
        """The message in Chinese."""
        return "；".join(f"{each.worker}：{each.zh}" for each in self.refusals)

    @property
    def blames_job(self) -> bool:
        """Whether the job's specification is at fault for at least one worker."""
        return any(each.code.blames_job for each in self.refusals)
