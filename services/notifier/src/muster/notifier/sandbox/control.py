"""How bots are set up over HTTP, by whoever rehearses.

    GET    /sandbox/bots            every bot, without its secret
    PUT    /sandbox/bots/<token>    set up a bot anew: {"secret", "keywords", "addresses",
                                    "enabled", "limited", "skew_s", "mode", "next", "slow_s"}
    DELETE /sandbox/bots/<token>    remove it, as when a person removes the bot from its group

Called by the application; pure but for the bots it is given.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from muster.notifier.sandbox.answers import MODES, Answer, told
from muster.notifier.sandbox.bots import Bot, network

PATH: Final = "/sandbox/bots"
_MOST: Final = 10


def _mode(value: str) -> str:
    if value not in MODES:
        raise ValueError(f"one of (可选值) {', '.join(sorted(MODES))}")
    return value


def _address(value: str) -> str:
    try:
        network(value)
    except ValueError:
        raise ValueError(
            "an IPv4 address, 123.12.1.* or a CIDR like 123.1.1.1/24 (须为 IPv4 地址或网段)"
        ) from None
    return value


Mode = Annotated[str, AfterValidator(_mode)]
Entry = Annotated[str, AfterValidator(_address)]


class BotForm(BaseModel):
    """A bot as it is asked for."""

    model_config = ConfigDict(extra="forbid")

    secret: str = ""
    keywords: Annotated[list[str], Field(max_length=_MOST)] = []
    addresses: Annotated[list[Entry], Field(max_length=_MOST)] = []
    enabled: bool = True
    limited: bool = True
    skew_s: float = 0.0
    mode: Mode = "ok"
    next: list[Mode] = []
    slow_s: Annotated[float, Field(ge=0, le=600)] = 3.0

    def bot(self) -> Bot:
        """Return the bot."""
        return Bot(
            secret=self.secret.strip(),
            keywords=tuple(self.keywords),
            addresses=tuple(self.addresses),
            enabled=self.enabled,
            limited=self.limited,
            skew_s=self.skew_s,
            mode=self.mode,
            next=list(self.next),
            slow_s=self.slow_s,
        )


def answer(bots: MutableMapping[str, Bot], method: str, rest: str, body: bytes) -> Answer:
    """Serve one request about bots; rest: what follows the path."""
    token = rest.removeprefix("/")
    match method:
        case "GET" if not token:
            return told({"bots": [_shown(token, bot) for token, bot in bots.items()]})
        case "PUT" if token and "/" not in token:
            return _put(bots, token, body)
        case "DELETE" if token in bots:
            del bots[token]
            return told({})
        case _:
            return told({"msg": "no such bot, or no such request (没有此机器人或请求)"}, 404)


def _put(bots: MutableMapping[str, Bot], token: str, body: bytes) -> Answer:
    try:
        form = BotForm.model_validate_json(body or b"{}")
    except ValidationError as error:
        wrong = [
            {"field": ".".join(map(str, each["loc"])), "msg": each["msg"]}
            for each in error.errors(include_input=False, include_url=False)
        ]
        return told({"msg": "the bot was not set up (机器人未设置)", "violations": wrong}, 422)
    bots[token] = form.bot()
    return told(_shown(token, bots[token]))


def _shown(token: str, bot: Bot) -> dict[str, object]:
    """Return a bot without its secret; the token is its name here, and of no worth elsewhere."""
    return {
        "token": token,
        "signed": bool(bot.secret),
        "keywords": bot.keywords,
        "addresses": bot.addresses,
        "enabled": bot.enabled,
        "limited": bot.limited,
        "skew_s": bot.skew_s,
        "mode": bot.mode,
        "next": bot.next,
    }
