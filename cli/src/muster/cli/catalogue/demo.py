"""Texts of the demo."""

from __future__ import annotations

DEMO: dict[str, tuple[str, str]] = {
    "demo.say.start": (
        "starting a whole Muster in {state}, with three pretended nodes and a chat bot",
        "在 {state} 中启动完整的 Muster，含三个虚拟节点和一个聊天机器人",
    ),
    "demo.say.up": ("it runs; its web page is {gateway}", "已启动，网页地址 {gateway}"),
    "demo.say.cards": ("what the chat group gets: {page}", "群聊收到的卡片：{page}"),
    "demo.say.submit.spirals": (
        "ada submits a training: two workers, spot capacity, auto-queue on",
        "ada 提交训练：两个 Worker、Spot 资源、开启自动排队",
    ),
    "demo.say.submit.urgent": (
        "a job of high priority arrives and takes the node that is left",
        "高优先级任务到达，占用剩下的节点",
    ),
    "demo.say.reclaim": (
        "after step {step} the cloud takes {node} back: the whole gang must leave",
        "第 {step} 步之后云厂商回收 {node}：整组任务必须让出",
    ),
    "demo.until.running": ("the training runs", "训练开始运行"),
    "demo.until.step": ("the training makes progress", "训练取得进展"),
    "demo.until.evicted": ("the training is evicted and queued again", "训练被驱逐并重新排队"),
    "demo.until.resumed": ("the training runs again", "训练再次运行"),
    "demo.until.over": ("both jobs end", "两个任务结束"),
    "demo.event": (
        "{name} (run {run}, queue entry {entry})",
        "{name}（第 {run} 次运行，第 {entry} 次排队）",
    ),
    "demo.run": ("run {run}, queue entry {entry}", "第 {run} 次运行，第 {entry} 次排队"),
    "demo.on": (" on {nodes}", "，节点 {nodes}"),
    "demo.step": (
        "run {run}: step {step} of {steps}, loss {loss}",
        "第 {run} 次运行：第 {step}/{steps} 步，loss {loss}",
    ),
    "demo.jobs": ("jobs", "任务"),
    "demo.title.timeline": ("The life of the training", "训练任务的一生"),
    "demo.title.letters": ("What the chat group was told", "群聊收到的通知"),
    "demo.title.proof": ("The proof", "证明"),
    "demo.yes": ("yes", "是"),
    "demo.no": ("no", "否"),
    "demo.proof.outcome": (
        "the training is {phase}: {runs} run(s), {entries} queue entries, one requeue used",
        "训练状态 {phase}：运行 {runs} 次，排队 {entries} 次，用掉一次重新排队",
    ),
    "demo.proof.silent": (
        "the training reported {first} step(s) in its first run and {second} in its second",
        "训练第一次运行报告 {first} 步，第二次 {second} 步",
    ),
    "demo.proof.saved": (
        "evicted after step {last}, it wrote a checkpoint of step {step}",
        "第 {last} 步后被驱逐，写下第 {step} 步的 checkpoint",
    ),
    "demo.proof.continued": (
        "its second run loaded step {loaded} and went on with step {begins}, no step twice",
        "第二次运行加载第 {loaded} 步，从第 {begins} 步继续，没有重复的步",
    ),
    "demo.proof.verified": (
        "Muster found in its output that it went on: step {before} -> {after}",
        "Muster 从日志确认训练已继续：step {before} -> {after}",
    ),
    "demo.proof.calm": (
        "the loss went on at {after} where it was at {before}; a fresh start is at {start}",
        "loss 由 {before} 继续为 {after}，而从头开始为 {start}",
    ),
    "demo.proof.finished": ("it reached step {step} of {steps}", "到达第 {step}/{steps} 步"),
    "demo.proof.letters": (
        "{count} notices were due: {missing} missing, {extra} too many",
        "应收到 {count} 条通知：缺 {missing} 条，多 {extra} 条",
    ),
    "demo.proof.signed": (
        "the signatures of {count} notices are right",
        "{count} 条通知的签名正确",
    ),
    "demo.passed": ("The demo passed in {seconds} s.", "演示通过，用时 {seconds} 秒。"),
    "demo.failed": (
        "The demo FAILED after {seconds} s: see what is marked above.",
        "演示失败（{seconds} 秒）：见上方标记。",
    ),
    "demo.kept": ("Everything still runs. Try:", "一切仍在运行，可以试试："),
    "demo.kept.end": ("and end it with: {command}", "结束：{command}"),
    "demo.cleaned": ("the demo in {state} is gone", "{state} 中的演示已清除"),
    "demo.nothing_to_clean": ("there is no demo in {state}", "{state} 中没有演示"),
    "column.letter": ("NOTICE", "通知"),
    "column.words": ("WHAT IT SAYS", "内容"),
    "column.verified": ("SIGNATURE VERIFIED", "签名已验证"),
}
