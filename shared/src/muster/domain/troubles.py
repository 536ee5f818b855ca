"""What a NATS server or its certificate refuses us for, with the remedy, in English and Chinese.

Found by the words of the error, which is all that a client library and the server's protocol give.
Pure. Called by whoever connects, asks or writes, and by the command line, which shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[str, str]
"""English, Chinese."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One cause that a person can end. signs: words of an error, any of which means it."""

    code: str
    cause: Pair
    remedy: Pair
    signs: tuple[str, ...]

    def bare(self, text: str) -> str:
        """Return an error's own words, without what `explained` has put behind them."""
        return text.replace(f": {self.cause[0]}; {self.remedy[0]}", "")


_RENEW: Pair = (
    "give the new credentials with MUSTER_NATS_CREDENTIALS or in MUSTER_NATS_URL, and start again",
    "请通过 MUSTER_NATS_CREDENTIALS 或 MUSTER_NATS_URL 提供新的凭证并重新启动",
)
_TRUST: Pair = (
    "name a file of the authority's certificate with SSL_CERT_FILE, or have the server's signed by"
    " one that this machine trusts",
    "请用 SSL_CERT_FILE 指定签发机构的证书文件，或改用本机信任的机构签发的服务器证书",
)
_GIVE_ROOM: Pair = (
    "raise the account's JetStream storage (max_file), or archive and trim the log; nothing is lost"
    " meanwhile: what could not be written is tried again",
    "请提高账户的 JetStream 存储上限（max_file），或归档并裁剪日志；未写入的会自动重试，不会丢失",
)

TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        "credentials_expired",
        ("the NATS credentials have expired or were revoked", "NATS 凭证已过期或被吊销"),
        _RENEW,
        ("authentication expired", "authentication revoked", "account authentication"),
    ),
    Trouble(
        "credentials_refused",
        ("the NATS server does not accept these credentials", "NATS 服务器不接受当前凭证"),
        _RENEW,
        ("authorization violation", "authorization failed", "authentication timeout"),
    ),
    Trouble(
        "certificate_expired",
        ("the NATS server's certificate has expired", "NATS 服务器的证书已过期"),
        (
            "renew it and reload the server (nats-server --signal reload); Muster connects by"
            " itself then",
            "请更新证书并重载服务器（nats-server --signal reload），之后 Muster 会自动重连",
        ),
        ("certificate has expired",),
    ),
    Trouble(
        "certificate_name",
        (
            "the NATS server's certificate is for another host than the address says",
            "NATS 服务器的证书与地址中的主机名不符",
        ),
        (
            "use a name that the certificate holds in MUSTER_NATS_URL, or add this one to it",
            "请在 MUSTER_NATS_URL 中使用证书包含的主机名，或将该主机名加入证书",
        ),
        ("hostname mismatch", "ip address mismatch", "is not valid for"),
    ),
    Trouble(
        "certificate_wanted",
        (
            "the NATS server asks for a certificate of the client",
            "NATS 服务器要求提供客户端证书",
        ),
        (
            "Muster shows who it is by credentials: turn `verify` off in the server's tls block",
            "Muster 以凭证表明身份：请在服务器 tls 配置中关闭 verify",
        ),
        ("certificate required", "bad certificate"),
    ),
    Trouble(
        "certificate_unknown",
        (
            "nobody whom this machine trusts has signed the NATS server's certificate",
            "NATS 服务器的证书并非由本机信任的机构签发",
        ),
        _TRUST,
        ("certificate_verify_failed", "certificate verify failed", "unknown ca"),
    ),
    Trouble(
        "connections_limit",
        (
            "the NATS account or server has as many connections as it may have",
            "NATS 账户或服务器的连接数已达上限",
        ),
        (
            "raise max_connections, or end clients that nobody needs",
            "请提高 max_connections，或关闭不需要的客户端",
        ),
        ("active connections exceeded", "maximum connections exceeded"),
    ),
    Trouble(
        "subscriptions_limit",
        (
            "the NATS account has as many subscriptions as it may have",
            "NATS 账户的订阅数已达上限",
        ),
        ("raise the account's max_subscriptions", "请提高账户的 max_subscriptions"),
        ("maximum subscriptions exceeded", "maximum account subscriptions"),
    ),
    Trouble(
        "streams_limit",
        ("the account has as many streams as it may have", "账户的流数量已达上限"),
        (
            "raise the account's max_streams, or delete streams that nobody needs",
            "请提高账户的 max_streams，或删除不需要的流",
        ),
        ("(10027)",),
    ),
    Trouble(
        "consumers_limit",
        ("the account or stream has as many consumers as it may have", "消费者数量已达上限"),
        (
            "raise the account's max_consumers, or delete consumers that nobody needs",
            "请提高账户的 max_consumers，或删除不需要的消费者",
        ),
        ("(10026)",),
    ),
    Trouble(
        "storage_limit",
        (
            "the account's JetStream storage is used up or too small",
            "账户的 JetStream 存储已用尽或过小",
        ),
        _GIVE_ROOM,
        ("(10002)", "(10047)", "(10023)", "(10028)"),
    ),
    Trouble(
        "stream_full",
        ("the stream is full", "该流已写满"),
        (
            "see that the services run and take what waits, or raise the stream's max_bytes",
            "请确认各服务在运行并处理积压，或提高该流的 max_bytes",
        ),
        ("maximum bytes exceeded", "maximum messages exceeded"),
    ),
)

LIMITS = frozenset({10002, 10023, 10026, 10027, 10028, 10047})
"""JetStream's errors that a limit of an account is reached. Some have a code (400) as if what was
sent were wrong; it is not, and must be tried again when there is room."""


def trouble_of(text: str) -> Trouble | None:
    """Return what an error's words mean, None for one that names no such cause."""
    words = text.lower()
    for trouble in TROUBLES:
        if any(sign in words for sign in trouble.signs):
            return trouble
    return None


def explained(text: str) -> str:
    """Return an error's words with their cause and remedy behind them, once."""
    trouble = trouble_of(text)
    if trouble is None or trouble.remedy[0] in text:
        return text
    return f"{text}: {trouble.cause[0]}; {trouble.remedy[0]}"


def unreachable(error: Exception) -> str:
    """Return what a connection that never was is told as. error: the last that it met."""
    return explained(f"NATS cannot be reached: {type(error).__name__} {error}")


def told(text: str) -> dict[str, str]:
    """Return what a line of a log says of an error beside its words."""
    trouble = trouble_of(text)
    if trouble is None:
        return {}
    (cause, cause_zh), (remedy, remedy_zh) = trouble.cause, trouble.remedy
    return {
        "trouble": trouble.code,
        "cause": cause,
        "remedy": remedy,
        "cause_zh": cause_zh,
        "remedy_zh": remedy_zh,
    }


def away(text: str, last: Exception | None) -> str:
    """Return why a connection that is not there is not: its last error says more than its lack."""
    return explained(f"{text} ({last})") if last is not None and trouble_of(str(last)) else text
