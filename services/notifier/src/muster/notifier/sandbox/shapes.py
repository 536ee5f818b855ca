"""The properties of a card JSON 2.0 and of its elements, as data for `cards.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these values."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """A list; of elements by their tags where there is no shape."""

    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with these properties and no others."""

    properties: Mapping[str, Type]
    needed: frozenset[str] = field(default_factory=frozenset)


Primitive: TypeAlias = tuple[type, ...]
Type: TypeAlias = "Shape | OneOf | Each | Primitive"

_TEXT: Final[Primitive] = (str,)
_NUMBER: Final[Primitive] = (int,)
_TRUTH: Final[Primitive] = (bool,)
_ANY: Final[Primitive] = (str, int, float, bool, dict, list)

COLOURS: Final = (
    *("blue", "wathet", "turquoise", "green", "yellow", "orange", "red"),
    *("carmine", "violet", "purple", "indigo", "grey", "default"),
)
_TAG_COLOURS: Final = ("neutral", "lime", *COLOURS[:-2], "grey", "default")


def _shape(needed: str, /, **properties: Type) -> Shape:
    return Shape(properties, frozenset(needed.split()))


_ICON: Final = _shape("tag", tag=_TEXT, token=_TEXT, color=_TEXT, img_key=_TEXT)
_WORDS: Final = _shape(
    "tag content",
    tag=OneOf(("plain_text", "lark_md")),
    content=_TEXT,
    i18n_content=(dict,),
    text_size=_TEXT,
    text_align=OneOf(("left", "center", "right")),
    text_color=_TEXT,
    lines=_NUMBER,
    icon=_ICON,
)
_LINK: Final = _shape("", url=_TEXT, android_url=_TEXT, ios_url=_TEXT, pc_url=_TEXT)
_TAG: Final = _shape(
    "tag text",
    tag=OneOf(("text_tag",)),
    element_id=_TEXT,
    text=_WORDS,
    color=OneOf(_TAG_COLOURS),
)
_HEADER: Final = _shape(
    "title",
    title=_WORDS,
    subtitle=_WORDS,
    text_tag_list=Each(_TAG),
    i18n_text_tag_list=(dict,),
    template=OneOf(COLOURS),
    icon=_ICON,
    padding=_TEXT,
)
_CONFIG: Final = _shape(
    "",
    streaming_mode=_TRUTH,
    streaming_config=(dict,),
    summary=_shape("content", content=_TEXT, i18n_content=(dict,)),
    locales=(list,),
    enable_forward=_TRUTH,
    enable_forward_interaction=_TRUTH,
    update_multi=OneOf((True,)),
    width_mode=OneOf(("fill", "compact", "default")),
    use_custom_translation=_TRUTH,
    style=(dict,),
)
_LAID_OUT: Final[Mapping[str, Type]] = {
    "direction": OneOf(("vertical", "horizontal")),
    "padding": _TEXT,
    "horizontal_spacing": _TEXT,
    "horizontal_align": OneOf(("left", "center", "right")),
    "vertical_spacing": _TEXT,
    "vertical_align": OneOf(("top", "center", "bottom")),
}
_BODY: Final = Shape({**_LAID_OUT, "elements": Each()}, frozenset({"elements"}))
CARD: Final = _shape(
    "schema header body",
    schema=OneOf(("2.0",)),
    config=_CONFIG,
    card_link=_LINK,
    header=_HEADER,
    body=_BODY,
)

_COMMON: Final[Mapping[str, Type]] = {"tag": _TEXT, "element_id": _TEXT, "margin": _TEXT}
_BEHAVIOUR: Final = _shape(
    "type",
    type=OneOf(("open_url", "callback")),
    default_url=_TEXT,
    android_url=_TEXT,
    ios_url=_TEXT,
    pc_url=_TEXT,
    value=_ANY,
)


def _element(needed: str, /, **properties: Type) -> Shape:
    return Shape({**_COMMON, **properties}, frozenset({"tag", *needed.split()}))


_COLUMN: Final = Shape(
    {
        **_COMMON,
        **_LAID_OUT,
        "tag": OneOf(("column",)),
        "background_style": _TEXT,
        "width": _TEXT,
        "weight": OneOf((1, 2, 3, 4, 5)),
        "action": (dict,),
        "elements": Each(),
    },
    frozenset({"tag"}),
)
ELEMENTS: Final[Mapping[str, Shape]] = {
    "div": _element("", text=_WORDS, icon=_ICON, width=_TEXT),
    "markdown": _element(
        "content",
        content=_TEXT,
        i18n_content=(dict,),
        text_size=_TEXT,
        text_align=OneOf(("left", "center", "right")),
        icon=_ICON,
    ),
    "hr": _element(""),
    "column_set": _element(
        "columns",
        flex_mode=OneOf(("none", "stretch", "flow", "bisect", "trisect")),
        background_style=_TEXT,
        horizontal_spacing=_TEXT,
        horizontal_align=OneOf(("left", "center", "right")),
        columns=Each(_COLUMN),
        action=(dict,),
    ),
    "button": _element(
        "text",
        type=_TEXT,
        size=OneOf(("tiny", "small", "medium", "large")),
        width=_TEXT,
        text=_WORDS,
        icon=_ICON,
        hover_tips=_WORDS,
        disabled=_TRUTH,
        disabled_tips=_WORDS,
        confirm=(dict,),
        behaviors=Each(_BEHAVIOUR),
        name=_TEXT,
    ),
    "img": _element(
        "img_key", img_key=_TEXT, alt=_WORDS, title=_WORDS, scale_type=_TEXT, size=_TEXT
    ),
    "table": _element(
        "columns rows",
        page_size=_NUMBER,
        row_height=_TEXT,
        header_style=(dict,),
        columns=(list,),
        rows=(list,),
    ),
    "collapsible_panel": _element(
        "elements",
        expanded=_TRUTH,
        header=(dict,),
        border=(dict,),
        elements=Each(),
        padding=_TEXT,
        vertical_spacing=_TEXT,
    ),
}
"""Without `note`, which 2.0 no longer has."""
