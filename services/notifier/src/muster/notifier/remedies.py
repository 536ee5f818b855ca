"""What a person can do about an address that refuses, by the code that it answered. Values only.

Codes are the receiver's own; the words are for the list of rules, the test of one, and its health.
"""

from __future__ import annotations

_REMEDIES: dict[str, tuple[str, str]] = {
    "19001": (
        "the bot was removed or the webhook is wrong: copy the webhook from the chat's bot settings"
        " again and make the rule anew",
        "机器人已被移除或 Webhook 有误：请从群机器人设置中重新复制并重建规则",
    ),
    "19002": (
        "the bot refused the form of the message: tell the operator",
        "消息格式被拒绝，请联系管理员",
    ),
    "19007": (
        "the bot is disabled: enable it in the chat's bot settings",
        "机器人已停用：请在群机器人设置中启用",
    ),
    "19021": (
        "the signing secret is wrong, or a clock is off by an hour: copy the secret again, and look"
        " at the notifier's clock",
        "签名密钥错误，或时钟相差超过一小时：请重新复制密钥，并检查通知服务的时钟",
    ),
    "19022": (
        "the bot allows other addresses only: put the notifier's outgoing IP on its list",
        "机器人启用了 IP 白名单：请将通知服务的出口 IP 加入白名单",
    ),
    "19024": (
        "the bot wants a keyword: give one of its keywords to the rule",
        "机器人启用了关键词校验：请为规则填写其中一个关键词",
    ),
    "address": (
        "the webhook is not on the list of what may be called: see the notifier's settings",
        "该 Webhook 不在允许调用的范围内：请检查通知服务的设置",
    ),
    "no_address": (
        "the address cannot be read: the key that it was sealed with is missing, or the name is"
        " gone; restore the key, or make the rule anew",
        "地址无法读取：加密密钥缺失或地址已不存在，请恢复密钥或重建规则",
    ),
    "unreachable": (
        "the address cannot be reached: look at the network and the proxy of the notifier",
        "无法连接该地址：请检查通知服务的网络与代理",
    ),
    "no_reply": (
        "the address takes too long to answer; the message may have arrived",
        "该地址响应超时；消息可能已送达",
    ),
    "broke": (
        "the channel broke at this message or its reply: give the operator the time and the word"
        " beside the code",
        "通道在处理该消息或回复时出错：请将时间与错误码旁的提示告知管理员",
    ),
}
_OTHER = (
    "look the code up with the receiver; `muster notify deliveries` shows every attempt",
    "请查询接收方的错误码；`muster notify deliveries` 可查看每次发送结果",
)


def remedy(code: str) -> tuple[str, str]:
    """Return what to do, in English and in Chinese."""
    return _REMEDIES.get(code, _OTHER)
