"""Collects what is wrong with a file: every violation at once, none of them with a value in it.

The texts of the notifier's rules 50-53 stand here, in both languages. Called by the readers of the
rules file only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.domain.errors import Permanent
from muster.domain.violations import Violation

_TEXTS: dict[str, tuple[str, str]] = {
    "E_RULE_TRIGGER": (
        "a notification rule takes exactly one trigger; create more rules for more states",
        "同一条通知规则只能选择一个触发条件，如需多个请创建多条规则",
    ),
    "E_WEBHOOK": (
        "webhook must be https://open.feishu.cn/open-apis/bot/v2/hook/<token> (value not echoed)",
        "Webhook 地址不合法（不回显）",
    ),
    "E_RULE_SECURITY": (
        "signing secret must be 1-128 characters; at most 10 keywords",
        "签名密钥须为 1-128 个字符；关键词最多 10 个",
    ),
    "E_RULE_DUP": ("an identical notification rule exists", "已存在相同的通知规则"),
    "E_RULE_SCOPE": (
        "the scope does not go with {trigger}: news of machines needs {{pool: NAME}} or cluster, "
        "news of jobs another scope",
        "范围与触发条件 {trigger} 不匹配：节点与事故须用 {{pool: 名称}} 或 cluster，"
        "任务须用其他范围",
    ),
    "E_RULE_CHANNEL": (
        "channel {channel} does not send to this address: Feishu, Lark and signed webhooks each"
        " have a channel of their own",
        "通道 {channel} 不能发送到该地址：飞书、Lark 与签名 Webhook 须使用各自的通道",
    ),
    "E_RULE_ID": (
        "a rule with this id exists; choose another id, or leave it out",
        "该规则 ID 已存在；请更换或不填",
    ),
    "E_RULE_OWNER": (
        "scope me is for your own jobs ({user}); another's jobs need scope job, labels or tenant",
        "范围 me 仅限本人的任务（{user}）；他人的任务请使用 job、labels 或 tenant",
    ),
    "E_RULE_UNKNOWN": (
        "there is no rule {rule} here; `muster notify rules` lists them",
        "没有规则 {rule}；可用 `muster notify rules` 查看",
    ),
    "E_RULE_FILE": (
        "rule {rule} is the operator's: it is changed in the rules file",
        "规则 {rule} 由管理员维护，只能在规则文件中修改",
    ),
    "E_RULE_ADDRESS": (
        "a webhook, or the name of an address that the operator has given this tenant",
        "须填写 webhook，或管理员为该租户提供的地址名称",
    ),
    "E_RULE_KEY": (
        "the notifier has no key to seal addresses with: an operator sets MUSTER_NOTIFIER_KEY or"
        " MUSTER_NOTIFIER_KEY_FILE and starts it anew",
        "通知服务未配置用于加密地址的密钥：请管理员设置 MUSTER_NOTIFIER_KEY 或"
        " MUSTER_NOTIFIER_KEY_FILE 后重启服务",
    ),
    "E_SILENCE_MATCH": (
        "a silence needs at least one of subject, rule, owner, trigger and label",
        "静默须至少指定对象、规则、用户、触发条件、标签之一",
    ),
    "E_SILENCE_TIME": (
        "a silence ends after it begins, in the future, and within {days} days",
        "静默的结束时间须晚于开始时间和当前时间，且不超过 {days} 天",
    ),
    "E_SILENCE_COMMENT": (
        "a silence says why: a comment of 1-{most} characters",
        "静默须说明原因（1-{most} 个字符）",
    ),
    "E_SILENCE_UNKNOWN": (
        "no silence {silence} holds or will hold here; `muster notify silences` lists them",
        "没有生效或待生效的静默 {silence}；可用 `muster notify silences` 查看",
    ),
    "E_REPLAY": (
        "name a rule or a notice whose dead letters are to go out again",
        "请指定要重新发送的规则或通知编号",
    ),
    "E_RULE_SHAPE": ("expected {wanted}", "须为 {wanted}"),
    "E_RULE_REFERENCE": (
        "expected {{env: NAME}} or {{file: PATH}} that exists, never the value itself",
        "须为存在的引用 {{env: 变量名}} 或 {{file: 路径}}，不能直接填写内容",
    ),
}
_KEY = re.compile(r"[A-Za-z0-9_-]{1,63}", re.ASCII)


class InvalidRules(Permanent):
    """The rules file breaks rules; `violations` holds all of them."""

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__("; ".join(f"{v.path}: {v.code} {v.en}" for v in violations))
        self.violations = violations


@dataclass
class Findings:
    """The violations so far, and checks that add to them and return something usable anyway."""

    violations: list[Violation] = field(default_factory=list)

    def add(self, code: str, path: str, **values: str) -> None:
        """Note a violation of rule `code` at `path`."""
        english, chinese = (text.format(**values) for text in _TEXTS[code])
        self.violations.append(Violation(code=code, path=path, en=english, zh=chinese))

    def shape(self, path: str, wanted: str) -> None:
        """Note that something else was expected at `path`."""
        self.add("E_RULE_SHAPE", path, wanted=wanted)

    def mapping(self, value: object, path: str, known: Iterable[str] = ()) -> dict[str, object]:
        """Return a mapping with text keys, {} if it is none; keys not in `known` are violations."""
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            self.shape(path, "a mapping")
            return {}
        names = tuple(known)
        for index, key in enumerate(value):
            if names and key not in names:
                self.shape(f"{path}.{shown(key, index)}", f"one of {', '.join(names)}")
        return value

    def word(self, value: object, pattern: re.Pattern[str], path: str, wanted: str) -> str:
        """Return a text that matches wholly, "" otherwise."""
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        self.shape(path, wanted)
        return ""

    def choice(self, value: object, choices: tuple[str, ...], path: str, wanted: str = "") -> str:
        """Return one of the choices, "" otherwise."""
        if isinstance(value, str) and value in choices:
            return value
        self.shape(path, wanted or " | ".join(choices))
        return ""

    def flag(self, value: object, path: str) -> bool:
        """Return a truth value, False if it is none."""
        if not isinstance(value, bool):
            self.shape(path, "true | false")
        return value is True

    def check(self) -> None:
        """Raise InvalidRules if anything was found."""
        if self.violations:
            raise InvalidRules(tuple(self.violations))


def shown(key: str, index: int) -> str:
    """Return a key for a path; what is no plain name may be a pasted secret and is not shown."""
    return key if _KEY.fullmatch(key) else f"[{index}]"
