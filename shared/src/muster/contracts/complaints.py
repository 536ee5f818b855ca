"""What a parser complains of, in Chinese: it knows English only. The limits stay, as numbers.

Pure. Called by `checking`; the offending value is never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

OTHER = "类型或格式不正确"

CHINESE: dict[str, str] = {
    "missing": "必填",
    "string_type": "须为字符串",
    "string_unicode": "须为合法的 Unicode 字符串",
    "string_too_short": "至少 {min_length} 个字符",
    "string_too_long": "最多 {max_length} 个字符",
    "string_pattern_mismatch": "须匹配 {pattern}",
    "not_printable": "须仅含可见字符",
    "int_type": "须为整数",
    "int_parsing": "须为整数",
    "int_parsing_size": "整数过大",
    "int_from_float": "须为整数，不能有小数部分",
    "float_type": "须为数字",
    "float_parsing": "须为数字",
    "finite_number": "须为有限的数字",
    "bool_type": "须为 true 或 false",
    "bool_parsing": "须为 true 或 false",
    "greater_than": "须大于 {gt}",
    "greater_than_equal": "须不小于 {ge}",
    "less_than": "须小于 {lt}",
    "less_than_equal": "须不大于 {le}",
    "multiple_of": "须为 {multiple_of} 的倍数",
    "too_short": "至少 {min_length} 项",
    "too_long": "最多 {max_length} 项",
    "list_type": "须为列表",
    "tuple_type": "须为列表",
    "dict_type": "须为映射（对象）",
    "mapping_type": "须为映射（对象）",
    "model_type": "须为映射（对象）",
    "model_attributes_type": "须为映射（对象）",
    "none_required": "须为空（null）",
    "invalid_key": "键须为字符串",
    "enum": "须为 {expected} 之一",
    "literal_error": "须为 {expected} 之一",
    "value_error": "须为 {error}",
    "datetime_type": "须为时间",
    "datetime_parsing": "须为 ISO 8601 时间",
    "datetime_from_date_parsing": "须为 ISO 8601 时间",
    "timezone_aware": "须带有时区",
    "json_invalid": "不是合法的 JSON",
}
"""Type of a complaint -> its words; what stands in braces is of the complaint's context."""

_PLACE = re.compile(r"line (\d+) column (\d+)")


def in_chinese(entry: Mapping[str, Any]) -> str:
    """Return the words of one complaint of pydantic's."""
    context = {name: str(value) for name, value in entry.get("ctx", {}).items()}
    if "expected" in context:
        context["expected"] = context["expected"].replace(" or ", " 或 ").replace(", ", "、")
    if "error" in context:
        context["error"] = context["error"].replace(" or ", " 或 ")
    try:
        words = CHINESE.get(entry["type"], OTHER).format_map(context)
    except KeyError:
        return OTHER
    place = _PLACE.search(entry["msg"]) if entry["type"] == "json_invalid" else None
    return f"{words}（第 {place[1]} 行第 {place[2]} 列）" if place else words
