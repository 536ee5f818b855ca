"""What can be wrong with a rule, in words: what, and what to do about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

FAULTS: dict[str, tuple[str, str]] = {
    "file": (
        "cannot be read ({detail}): write YAML in UTF-8",
        "无法读取（{detail}）：请使用 UTF-8 编码的 YAML",
    ),
    "folder": (
        "is no folder that can be read ({detail}): name the folder that holds the YAML files",
        "不是可读取的目录（{detail}）：请指定存放 YAML 文件的目录",
    ),
    "none": (
        "has no file of rules: names of such files end in .yaml",
        "没有规则文件：规则文件名须以 .yaml 结尾",
    ),
    "suffix": (
        "is not read: give it a name that ends in .yaml",
        "不会被读取：文件名须以 .yaml 结尾",
    ),
    "disabled": (
        "switches off a rule that is not shipped: name one of `muster diagnose --rules`",
        "关闭的规则并不存在：请使用 `muster diagnose --rules` 列出的标识",
    ),
    "shape": (
        "must be a mapping with a list of rules: write `rules:` and below it `- id: ...`",
        "须为含规则列表的映射：请写 `rules:`，其下为 `- id: ...`",
    ),
    "unknown": (
        "is not known: remove it, or use one of {detail}",
        "未知字段：请删除，或改为 {detail} 之一",
    ),
    "id": (
        "is not a name of a rule: write two names or more with dots between, such as site.quota,"
        " in a-z, 0-9 and _, not '{detail}'",
        "不是合法的规则标识：请写成以点分隔的两个或更多名称，如 site.quota，"
        "仅含 a-z、0-9 与 _，而不是“{detail}”",
    ),
    "double": (
        "stands there twice: give each rule an id of its own",
        "规则标识重复：每条规则须有不同的标识",
    ),
    "missing": ("is missing: write at least one", "缺失：请至少填写一项"),
    "word": ("must be one of {detail}", "须为 {detail} 之一"),
    "flag": ("must be true or false", "须为 true 或 false"),
    "texts": ("must be a list of texts", "须为文本列表"),
    "numbers": (
        "must be a list of numbers and ranges like 144-150",
        "须为数字或 144-150 这样的范围的列表",
    ),
    "bilingual": (
        "needs a text in both languages: write `en:` and `zh:` (and `field:`, if one is to change)",
        "须有中英文两种文本：请写 `en:` 与 `zh:`（若须修改字段，另写 `field:`）",
    ),
    "advice": (
        "is missing: a rule that may stop a job (stop, retry_once) says what to change, in `en:`"
        " and `zh:`",
        "缺失：可能终止任务的规则（stop、retry_once）须以 `en:` 与 `zh:` 说明应修改什么",
    ),
    "pattern": (
        "is no regular expression of Python: {detail}",
        "不是合法的 Python 正则表达式：{detail}",
    ),
    "slow": (
        "could take very long on a hostile line ({detail}): bound the repetitions, as in"
        " [^:]{{0,80}}",
        "在恶意输入上可能极慢（{detail}）：请限制重复次数，例如 [^:]{{0,80}}",
    ),
    "literal": (
        "no text of at least {detail} characters is sure to be in a match: give `literals:`, or"
        " make the pattern contain one",
        "匹配中没有必含的至少 {detail} 个字符的文本：请填写 `literals:`，或让表达式包含它",
    ),
    "code": (
        "has `codes` and no group for the number: write (?P<code>\\d+) where it stands",
        "指定了 `codes`，但没有数字分组：请在数字处写 (?P<code>\\d+)",
    ),
    "example": (
        "is not matched, and must be: '{detail}'; change the pattern or the example",
        "应匹配但未匹配：“{detail}”；请修改表达式或示例",
    ),
    "near_miss": (
        "is matched, and must not be: '{detail}'; make the pattern narrower",
        "不应匹配但匹配了：“{detail}”；请收窄表达式",
    ),
}
"""Code -> (English, Chinese): what is wrong with the field, and the remedy."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a rule. rule: its id, or #3 for the third of its file. detail: for the text."""

    code: str
    file: str
    rule: str
    field: str
    detail: str = ""

    def text(self, *, chinese: bool = False) -> str:
        """Say it in one line: file, rule, field, what is wrong and what to do."""
        words = FAULTS[self.code][chinese].format(detail=self.detail)
        return f"{self.file}: {self.rule}: {self.field} {words}"
