"""The command-line framework's own words in Chinese; its English ones are the keys."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "(default: {default})": "（默认：{default}）",
    "(dynamic)": "（动态）",
    "Aborted!": "已中止！",
    "Aborted.": "已中止。",
    "Arguments": "参数",
    "Options": "选项",
    "Commands": "命令",
    "Error": "错误",
    "Usage:": "用法：",
    "Usage: ": "用法：",
    "required": "必填",
    "[required]": "[必填]",
    "[default: {}]": "[默认：{}]",
    "[env var: {}]": "[环境变量：{}]",
    "default: {default}": "默认：{default}",
    "env var: {var}": "环境变量：{var}",
    "(deprecated) ": "（已弃用）",
    "Show this message and exit.": "显示帮助并退出。",
    "Install completion for the current shell.": "为当前 shell 安装自动补全。",
    "Show completion for the current shell, to copy it or customize the installation.": (
        "显示当前 shell 的自动补全脚本，便于复制或自定义安装。"
    ),
    "Missing command.": "缺少命令。",
    "Missing argument": "缺少参数",
    "Missing option": "缺少选项",
    "Missing parameter": "缺少参数",
    "No such command {name!r}.": "没有命令 {name!r}。",
    "No such option: {name}": "没有选项：{name}",
    "Got unexpected extra argument ({args})": "多余的参数（{args}）",
    "Got unexpected extra arguments ({args})": "多余的参数（{args}）",
    "Invalid value: {message}": "值不合法：{message}",
    "Invalid value for {param_hint}: {message}": "{param_hint} 的值不合法：{message}",
    "Try [blue]'{command_path} {help_option}'[/] for help.": (
        "运行 [blue]'{command_path} {help_option}'[/] 查看帮助。"
    ),
}
