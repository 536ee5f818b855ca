"""The channel over a real line: whatever a bot, a proxy or a network does, one request."""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
import structlog
from pydantic import SecretStr

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.port import Address
from muster.notifier.channels.redaction import redact
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.message import Message
from muster.notifier.sandbox import HOOK, Bot, Receiver, serving
from tests.notifier.test_cards import built, notice
from tests.notifier.test_feishu import a_channel
from tests.support import leaks
from tests.support.leaks import KEY, TOKEN

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
CARD: Message = built(notice(), UTC)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
F = Fault


async def sent(origin: str, timeout: float = 5.0, proxy: str | None = None) -> Delivery:
    """Send one card to a bot of an origin."""
    channel = a_channel(Allowlist(frozenset({origin})), timeout=timeout, proxy=proxy)
    address = Address(SecretStr(f"{origin}{HOOK}{TOKEN}"), SecretStr(KEY))
    try:
        return await channel.send(address, CARD, NOW, Form.CARD)
    finally:
        await channel.close()


@pytest.mark.case("NTF-01")
@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("ok", F.NONE),
        ("legacy", F.NONE),
        ("code_as_text", F.NOT_UNDERSTOOD),
        ("broken_json", F.NOT_UNDERSTOOD),
        ("not_utf8", F.NOT_UNDERSTOOD),
        ("empty_object", F.NOT_UNDERSTOOD),
        ("empty", F.NOT_UNDERSTOOD),
        ("html", F.NOT_UNDERSTOOD),
        ("huge", F.NOT_UNDERSTOOD),
        ("redirect", F.REFUSED),
        ("old_rate", F.RATE),
        ("http_429", F.RATE),
        ("http_500", F.SERVER),
        ("http_503", F.SERVER),
        ("reset", F.NO_REPLY),
        ("reset_after", F.NO_REPLY),
        ("hang", F.NO_REPLY),
        ("slow", F.NO_REPLY),
        ("2200", F.SERVER),
        ("9499", F.CONTENT),
        ("11232", F.RATE),
        ("11246", F.CONTENT),
        ("19001", F.ADDRESS),
        ("19002", F.PARAMETER),
        ("19007", F.DISABLED),
        ("19021", F.SIGNATURE),
        ("19022", F.IP),
        ("19024", F.KEYWORD),
        ("200621", F.CONTENT),
        ("230099", F.CONTENT),
    ],
)
async def test_only_the_bots_own_code_is_a_delivery(mode: str, fault: Fault) -> None:
    bot = Bot(secret=KEY, mode=mode, slow_s=60)
    receiver = Receiver({TOKEN: bot}, clock=NOW.timestamp)
    patience = 0.5 if mode in {"hang", "slow"} else 5.0
    async with serving(receiver) as origin:
        told = await sent(origin, patience)
    assert told.fault is fault
    assert len(receiver.received) <= 1, "one request, whatever the answer"


@asynccontextmanager
async def wire(
    serve: Serve, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """A server that speaks raw bytes; yields its origin."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(served, host, 0, ssl=tls)
    name = f"[{host}]" if ":" in host else host
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"{'https' if tls else 'http'}://{name}:{port}"


def says(*pieces: bytes, wait: float = 0.0) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(wait)

    return serve


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "serve",
    [
        says(b"not HTTP at all\r\n\r\n"),
        says(CHUNKED + b"zz\r\n{}\r\n"),
        says(CHUNKED + b'b\r\n{"code":0,"'),
        says(HEAD + b"content-length: 400\r\n\r\n{"),
        says(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000 + b"\r\n\r\n"),
        says(HEAD + b"\r\n", *[b" "] * 1000, wait=0.05),
        says(),
    ],
    ids=["no http", "bad chunk", "half a chunk", "half a body", "long header", "drops", "silence"],
)
async def test_what_breaks_after_the_message_left_is_no_reply(serve: Serve) -> None:
    async with wire(serve) as origin:
        told = await sent(origin, 0.6)
    assert told.fault is F.NO_REPLY


async def test_a_reply_in_compressed_form_is_not_opened() -> None:
    async with wire(says(HEAD + b"content-encoding: gzip\r\n\r\n" + b"\x1f\x8b\x08")) as origin:
        told = await sent(origin)
    assert told.fault is F.NOT_UNDERSTOOD


async def test_ipv6_is_spoken() -> None:
    ok = HEAD + b'content-length: 10\r\n\r\n{"code":0}'
    try:
        async with wire(says(ok), host="::1") as origin:
            assert (await sent(origin)).fault is F.NONE
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")


async def test_a_certificate_that_nobody_vouches_for_ends_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))

    async with wire(serve, tls=_self_signed(tmp_path)) as origin:
        told = await sent(origin)
    assert told.fault is F.UNREACHABLE
    assert not any(heard), "nothing is sent before the certificate is known"
    leaks.heard(repr(told) + caplog.text)


def _self_signed(folder: Path) -> ssl.SSLContext:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_proxy_is_used_when_it_is_named_and_only_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    ok = HEAD + b'content-length: 10\r\n\r\n{"code":0}'
    async with wire(says(ok)) as proxy:
        assert (await sent("http://bot.invalid:81", proxy=proxy)).fault is F.NONE
        assert (await sent(proxy)).fault is F.NONE
    assert (await sent("http://bot.invalid:81", proxy="http://127.0.0.1:9")).fault is F.UNREACHABLE


ADDRESS = Address(SecretStr(f"https://open.feishu.cn{HOOK}{TOKEN}"), SecretStr(f" {KEY}\n"))
ECHOES = {
    "as it is": "{}",
    "in capitals": "{upper}",
    "percent-encoded": "{quoted}",
    "in base64": "{base64}",
    "within base64": "{inner}",
    "with line breaks": "{broken}",
    "backwards": "{backwards}",
}


@pytest.mark.parametrize("form", ECHOES)
@pytest.mark.parametrize("hidden", [TOKEN, KEY, ADDRESS.url.get_secret_value()])
def test_an_echo_of_what_is_secret_is_not_told(form: str, hidden: str) -> None:
    echo = ECHOES[form].format(
        hidden,
        upper=hidden.upper(),
        quoted=quote(hidden, safe=""),
        base64=base64.b64encode(hidden.encode()).decode(),
        inner=base64.b64encode(f"x{hidden}".encode()).decode(),
        broken="\r\n".join(hidden[at : at + 5] for at in range(0, len(hidden), 5)),
        backwards=hidden[::-1],
    )
    said = redact(f"bad request: {echo} was sent", ADDRESS)
    assert not leaks.found_in(said, "plants")
    assert TOKEN[4:12].lower() not in said.lower().replace(" ", "")
    assert said.startswith("bad request")


def test_what_is_no_secret_is_told_as_it_is() -> None:
    text = "param invalid: msg_type text, code 19002, 关键词 not found"
    assert redact(text, ADDRESS) == text


@pytest.mark.parametrize("style", ["plain", "structlog"])
async def test_no_error_chain_names_the_address(
    style: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the client would name it in its request; none gets out of the channel."""
    caplog.set_level(logging.DEBUG)
    told = await sent("http://127.0.0.1:9")
    assert told.fault is F.UNREACHABLE
    assert told.text == "ConnectError"
    if style == "structlog":
        structlog.get_logger().warning("not delivered", told=told, address=ADDRESS)
    else:
        logging.getLogger("x").warning("%r %s", told, ADDRESS)
    leaks.heard(caplog.text + capsys.readouterr().out + repr(told))
