"""One message of every kind in both languages: compared with the files of `golden/`.

`python -m tests.notifier.goldens` writes the files again; look at the difference before keeping it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muster.notifier.core.cards import message
from muster.notifier.core.links import Links
from muster.notifier.core.message import Message
from muster.notifier.core.notice import (
    Facts,
    IncidentFacts,
    Kind,
    Language,
    NodeFacts,
    Notice,
    Trigger,
)
from muster.notifier.core.wording import Look

FOLDER = Path(__file__).parent / "golden"
AT = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
SITE = "https://muster.example.com/{tenant}/{job}"
LOOK = Look(UTC, Links(SITE, f"{SITE}/log", f"{SITE}/events"))
T = Trigger

_JOB: dict[str, Any] = {
    "name": "llama-70b-sft",
    "owner": "alice",
    "entry": 1,
    "attempt": 1,
    "gpus": 64,
    "workers": 8,
    "requeues_left": 3,
    "resource_class": "spot",
}
_RECLAIM = ("evicted: spot_reclaim", "被驱逐：竞价资源回收")
_OOM = (
    "GPU memory ran out on worker-3 (CUDA out of memory)",
    "worker-3 显存不足 (CUDA out of memory)",
)
_NODES = tuple(f"gpu-{n:03}" for n in range(8))

FACTS: dict[str, tuple[Trigger, dict[str, Any]]] = {
    "queued": (T.JOB_QUEUED, {"attempt": 0, "deadline": AT + timedelta(hours=6)}),
    "queued-again": (
        T.JOB_QUEUED,
        {
            "entry": 3,
            "attempt": 2,
            "requeues_left": 1,
            "deadline": AT + timedelta(hours=6),
            "reason": _RECLAIM,
            "again": True,
        },
    ),
    "running": (T.JOB_RUNNING, {"nodes": _NODES, "waited_s": 754}),
    "running-again": (
        T.JOB_RUNNING,
        {
            "entry": 2,
            "attempt": 2,
            "nodes": _NODES,
            "again": True,
            "waited_s": 5400,
            "step": 41200,
            "checkpoint_step": 41000,
        },
    ),
    "abnormal": (
        T.JOB_ABNORMAL,
        {
            "entry": 4,
            "attempt": 3,
            "requeues_left": 0,
            "reason": (
                "all 3 requeues are used; a person must act",
                "重新排队次数达到上限 3 次，已停止自动排队，需人工处理",
            ),
        },
    ),
    "failed": (
        T.JOB_FAILED,
        {
            "reason": _OOM,
            "ran_s": 8130,
            "gpu_hours": 144.5,
            "lost_gpu_hours": 12.1,
            "advice": (
                "Lower the batch size or raise GPUs a worker: this would fail again as it is.",
                "请减小 batch size 或增加每个 Worker 的 GPU 数：原样重试仍会失败。",
            ),
            "evidence": (
                ("worker-3: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.5 GiB",)
                * 2,
            ),
        },
    ),
    "succeeded": (T.JOB_SUCCEEDED, {"ran_s": 90061, "gpu_hours": 1601.1, "step": 120000}),
    "preempted": (
        T.JOB_PREEMPTED,
        {
            "reason": _RECLAIM,
            "nodes": _NODES,
            "by": "acme/urgent-eval",
            "leave_by": AT + timedelta(seconds=120),
            "ran_s": 3661,
        },
    ),
    "restarted": (
        T.JOB_RESTARTED,
        {
            "reason": ("GPU fell off the bus on gpu-003", "gpu-003 的 GPU 掉卡"),
            "avoid": ("gpu-003",),
            "lost_gpu_hours": 3.2,
        },
    ),
    "hang-suspected": (
        T.HANG_SUSPECTED,
        {
            "worker": "worker-5",
            "step": 41217,
            "evidence": (
                ("no new step for 1,800 s", "连续 1,800 秒没有新的 step"),
                ("all ranks wait in all_reduce", "全部 rank 停在 all_reduce"),
            ),
        },
    ),
    "progress-lost": (
        T.PROGRESS_LOST,
        {
            "attempt": 2,
            "step": 41200,
            "resumed_step": 0,
            "checkpoint_step": 41000,
            "lost_gpu_hours": 512.0,
        },
    ),
    "debug-hold": (
        T.DEBUG_HOLD,
        {"reason": _OOM, "hold_until": AT + timedelta(hours=1), "nodes": _NODES[:2]},
    ),
}


def _notice(trigger: Trigger, facts: Any, language: Language, **values: Any) -> Notice:
    base: dict[str, Any] = {
        "rule": "sft-team",
        "trigger": trigger,
        "language": language,
        "channel": "feishu",
        "address": "ops",
        "tenant": "acme",
        "subject": "job-7f3a",
        "transition": "x:1",
        "version": 7,
        "at": AT,
        "facts": facts,
    }
    return Notice(**{**base, **values})


def _singles(language: Language) -> Iterator[tuple[str, Notice]]:
    for name, (trigger, facts) in FACTS.items():
        yield name, _notice(trigger, Facts(**{**_JOB, **facts}), language)
    parked = _notice(T.JOB_ABNORMAL, Facts(**{**_JOB, **FACTS["abnormal"][1]}), language)
    yield "reminder", replace(parked, kind=Kind.REMINDER)
    flaps = Facts(**{**_JOB, "flips": 4, "entry": 5, "requeues_left": 0})
    yield "flapping", _notice(T.JOB_QUEUED, flaps, language, kind=Kind.FLAPPING)
    why = ("4 jobs of 3 users failed on it", "3 个用户的 4 个任务在该节点失败")
    node = NodeFacts("h100", "gpu-003", AT + timedelta(hours=6), why, times=2, proposed=True)
    yield "node-excluded", _notice(T.NODE_EXCLUDED, node, language, subject="h100/gpu-003")
    what = ("17 jobs lost /mnt/lustre within 2 minutes", "2 分钟内 17 个任务与 /mnt/lustre 失联")
    storm = IncidentFacts(
        "storage-lustre-1f", "storage", "/mnt/lustre", pool="h100", jobs=17, users=9, why=what
    )
    opened = replace(storm, nodes=_NODES, since=AT - timedelta(minutes=2))
    yield "incident", _notice(T.INCIDENT, opened, language, subject=storm.incident)
    over = replace(opened, phase="closed", ended=AT, closed_by="bob")
    yield "incident-over", _notice(T.INCIDENT, over, language, subject=storm.incident)


def _digest(language: Language, count: int, *, mixed: bool = False) -> list[Notice]:
    triggers = (T.JOB_PREEMPTED, T.JOB_QUEUED) if mixed else (T.JOB_QUEUED,)
    return [
        _notice(
            triggers[number % len(triggers)],
            Facts(**{**_JOB, "name": f"sweep-{number:03}", "reason": _RECLAIM, "again": True}),
            language,
            subject=f"job-{number:03}",
            transition=f"queued:{number}",
            version=number,
            at=AT + timedelta(seconds=number / 5),
        )
        for number in range(count)
    ]


def goldens() -> Iterator[tuple[str, Message]]:
    """Yield every message by the name of its file."""
    languages: Sequence[Language] = ("zh", "en")
    for language in languages:
        for name, notice in _singles(language):
            yield f"{name}.{language}", message((notice,), LOOK, notice.id)
        yield f"digest.{language}", message(_digest(language, 12), LOOK, "n-0123456789ab")
        mixed = replace(LOOK, repeat=True, keywords=("训练",))
        told = _digest(language, 12, mixed=True)
        yield f"digest-mixed.{language}", message(told, mixed, "n-ba9876543210")


def hundred(language: Language) -> Message:
    """The largest digest there is."""
    return message(_digest(language, 100, mixed=True), LOOK, "n-0123456789ab")


def text_of(made: Message) -> str:
    """Return a message as its file holds it."""
    held = {"card": made.card, "text": made.text}
    return json.dumps(held, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for file, written in goldens():
        (FOLDER / f"{file}.json").write_text(text_of(written), encoding="utf-8")
