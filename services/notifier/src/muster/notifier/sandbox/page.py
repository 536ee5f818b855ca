"""Shows cards as a chat would: HTML without a script, in which nothing of a card is markup.

`card_html` draws one card; the page of the stand-in and the pictures of the documentation use it.
Pure. Only the elements that `shapes.py` knows are drawn; a link leads to http or https, or nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from muster.notifier.sandbox.bots import Bot, Received
from muster.notifier.sandbox.style import STYLE

_SHOWN: Final = 200
_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{title}</title><style>{style}</style></head><body>{body}</body></html>"
)


def card_html(card: Mapping[str, Any]) -> str:
    """Return one card as HTML that can be put into a page with `STYLE`."""
    header = card.get("header", {})
    colour = _name(header.get("template", "default"))
    tags = "".join(
        f'<span class="tag {_name(tag.get("color", ""))}">{_words(tag.get("text"))}</span>'
        for tag in header.get("text_tag_list", ())
    )
    subtitle = _words(header.get("subtitle"))
    body = "".join(map(_element, card.get("body", {}).get("elements", ())))
    return (
        f'<article class="card"><header class="{colour}"><h2>{_words(header.get("title"))}{tags}'
        f"</h2>{f'<p>{subtitle}</p>' if subtitle else ''}</header>"
        f'<div class="body">{body}</div></article>'
    )


def document(body: str, *, title: str, refresh_s: int | None = None) -> str:
    """Return a page around HTML that is already safe."""
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    return _HEAD.format(refresh=refresh, title=escape(title), style=STYLE, body=body)


def page_html(received: Sequence[Received], bots: Mapping[str, Bot]) -> str:
    """Return the page of the stand-in: the newest message first."""
    shown = "".join(map(_message, reversed(received[-_SHOWN:])))
    empty = '<p class="empty">还没有消息。Nothing has arrived yet.</p>'
    title = "Muster · Feishu sandbox 飞书沙箱"
    counts = f"{len(received)} 条消息 messages · {len(bots)} 个机器人 bots"
    top = f'<div class="top"><h1>{title}</h1><p>{counts}</p></div>'
    return document(f"{top}<main>{shown or empty}</main>", title=title, refresh_s=5)


def _message(message: Received) -> str:
    at = datetime.fromtimestamp(message.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if message.kind == "interactive":
        drawn = card_html(message.body["card"])
    else:
        drawn = (
            f'<article class="card"><div class="body pre">{escape(message.text)}</div></article>'
        )
    return f'<section><p class="when">{at}</p>{drawn}</section>'


def _name(value: object) -> str:
    """Return a value of a card as the name of a class."""
    return "".join(char for char in str(value) if char.isascii() and char.isalnum())


def _words(text: object) -> str:
    return escape(str(text.get("content", ""))) if isinstance(text, Mapping) else ""


def _element(element: Mapping[str, Any]) -> str:
    draw = _DRAWN.get(element.get("tag", ""))
    return "" if draw is None else draw(element)


def _div(element: Mapping[str, Any]) -> str:
    text = element.get("text", {})
    size, colour = _name(text.get("text_size", "normal")), _name(text.get("text_color", ""))
    return f'<p class="text {size} ink-{colour}">{_words(text)}</p>'


def _markdown(element: Mapping[str, Any]) -> str:
    size = _name(element.get("text_size", "normal"))
    return f'<p class="text {size}">{_words(element)}</p>'


def _columns(element: Mapping[str, Any]) -> str:
    drawn = "".join(
        f'<div class="column {_name(column.get("width", ""))}">'
        f"{''.join(map(_element, column.get('elements', ())))}</div>"
        for column in element.get("columns", ())
    )
    return f'<div class="columns {_name(element.get("flex_mode", ""))}">{drawn}</div>'


def _button(element: Mapping[str, Any]) -> str:
    urls = [
        str(behaviour.get("default_url", ""))
        for behaviour in element.get("behaviors", ())
        if behaviour.get("type") == "open_url"
    ]
    url = next((url for url in urls if url.startswith(("https://", "http://"))), None)
    kind = _name(element.get("type", "default"))
    label = _words(element.get("text"))
    if url is None:
        return f'<span class="button {kind}">{label}</span>'
    return f'<a class="button {kind}" rel="noreferrer" href="{escape(url)}">{label}</a>'


def _panel(element: Mapping[str, Any]) -> str:
    inner = "".join(map(_element, element.get("elements", ())))
    title = _words(element.get("header", {}).get("title"))
    return f"<details open><summary>{title}</summary>{inner}</details>"


_DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "div": _div,
    "markdown": _markdown,
    "hr": lambda element: "<hr>",
    "column_set": _columns,
    "button": _button,
    "collapsible_panel": _panel,
}
