"""The command-line framework's own words in Chinese; its English ones are the keys."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "(dynamic)": "（动态）",
    "Arguments": "参数",
    "Options": "选项",
    "Commands": "命令",
    "required": "必填",
    "[required]": "[必填]",
    "[default: {}]": "[默认：{}]",
    "[env var: {}]": "[环境变量：{}]",
    "default: {default}": "默认：{default}",
    "env var: {var}": "环境变量：{var}",
    "(deprecated) ": "（已弃用）",
}
"""What it asks `gettext` for when it prints help."""

USAGE: tuple[tuple[str, str], ...] = (
    (r"No such option: (?P<a>\S+)", "没有选项 {a}"),
    (
        r"No such option: (?P<a>\S+) (?:\(Possible options: (?P<b>.*)\)|Did you mean (?P<c>.*)\?)",
        "没有选项 {a}，是否应为 {b}{c}？",
    ),
    (r"No such command '(?P<a>.*)'\. Did you mean (?P<b>.*)\?", "没有命令 {a}，是否应为 {b}？"),
    (r"No such command '(?P<a>.*)'\.", "没有命令 {a}"),
    (r"Missing command\.", "缺少命令"),
    (r"Missing argument '(?P<a>.*)'\..*", "缺少参数 {a}"),
    (r"Missing option '(?P<a>.*)'\..*", "缺少选项 {a}"),
    (r"Got unexpected extra argument(?:s|\(s\))? \((?P<a>.*)\)", "多余的参数：{a}"),
    (r"Option '(?P<a>.*)' requires an argument\.", "选项 {a} 需要一个值"),
    (r"Option '(?P<a>.*)' does not take a value\.", "选项 {a} 不接受值"),
    (r"Invalid value for '(?P<a>.*?)': (?P<b>.*)", "{a} 的值不合法：{b}"),
    (r"Invalid value: (?P<a>.*)", "值不合法：{a}"),
    (r"Input should be a valid integer.*", "须为整数"),
    (r"Input should be greater than or equal to (?P<a>.*)", "须不小于 {a}"),
    (r"Input should be less than or equal to (?P<a>.*)", "须不大于 {a}"),
    (r"Value error, (?P<a>.*)", "{a}"),
    (r"'(?P<a>.*)' is not one of (?P<b>.*)\.", "{a} 不在可选值 {b} 中"),
)
"""Pattern of a sentence about wrong usage -> the same in Chinese; a group may be another one."""
