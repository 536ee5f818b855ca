"""Texts about how long idle jobs keep their places."""

from __future__ import annotations

STABILITY: dict[str, tuple[str, str]] = {
    "column.risk": ("RISK", "风险"),
    "column.stays": ("STAYS", "占用次数"),
    "column.survive_1h": ("KEEPS PLACE 1 H", "保留 1 小时概率"),
    "column.survive_6h": ("KEEPS PLACE 6 H", "保留 6 小时概率"),
    "column.hours": ("HOURS", "小时"),
    "column.predicted": ("PREDICTED", "预测"),
    "column.observed": ("OBSERVED", "实测"),
    "column.known": ("KNOWN", "已知样本"),
    "stability.title": (
        "pool {pool}: how likely idle jobs keep their places, with 95 % intervals",
        "资源池 {pool}：闲时任务保留位置的概率（95% 置信区间）",
    ),
    "stability.none": (
        "pool {pool}: no idle job was placed yet, so nothing is measured",
        "资源池 {pool}：尚无闲时任务被放置，暂无实测数据",
    ),
    "stability.promise": (
        "medium and high may use places up to a risk that is measured where it can be; "
        "what is assumed says so",
        "中、高等级可用的风险上限尽量取自实测；仅为假定的会注明",
    ),
    "stability.any_risk": ("any", "不限"),
    "stability.bound": ("up to {bound}", "不超过 {bound}"),
    "stability.assumed": ("{bound} (assumed)", "{bound}（假定）"),
    "stability.band": ("above {above}, up to {upto}", "大于 {above}，不超过 {upto}"),
    "stability.band.last": ("above {above}", "大于 {above}"),
    "stability.chance": ("{chance} ({low}-{high})", "{chance}（{low}-{high}）"),
    "stability.too_few": ("too few to say", "样本不足"),
    "stability.outlook": (
        "keeps its place for 1 h with {one}, for 6 h with {six} (risk {risk})",
        "保留 1 小时的概率 {one}，6 小时 {six}（风险 {risk}）",
    ),
    "stability.outlook.none": (
        "how long it keeps its place is not measured yet (risk {risk})",
        "保留位置的概率尚无实测（风险 {risk}）",
    ),
    "stability.unknown": ("unknown chance", "未知"),
    "stability.calibration": (
        "chances told when placed, against what came: mean error {error}, Brier score {brier}, "
        "for {hours} h, {known} stays",
        "放置时给出的概率与实际对比：{hours} 小时，平均误差 {error}，Brier 分数 {brier}，"
        "样本 {known}",
    ),
    "stability.calibration.none": (
        "too few predictions have come true or false yet to judge them",
        "已有结果的预测太少，尚无法校准",
    ),
    "stability.low": ("low", "低"),
    "stability.medium": ("medium", "中"),
    "stability.high": ("high", "高"),
}
