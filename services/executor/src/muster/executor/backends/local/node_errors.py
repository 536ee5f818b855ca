"""What is wrong with a `nodes.yaml`, for the person who wrote it: field, rule and remedy.

Translates what the YAML parser and pydantic say; only `nodes` calls it.
"""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from muster.domain.violations import Violation

_EXAMPLE = "- {name: node-1, gpus: 8, gpu_model: A100, cpus: 64, memory_mib: 512000}"

_RULES: dict[str, tuple[str, str]] = {
    "missing": ("is required; add it", "为必填项；请补充"),
    "extra_forbidden": (
        "is not a field of a node; remove it or correct its spelling",
        "不是节点的字段；请删除或更正拼写",
    ),
    "int_type": ("must be a whole number; write it without quotes", "必须是整数；请不要加引号"),
    "int_from_float": ("must be a whole number; round it", "必须是整数；请取整"),
    "float_type": ("must be a number; write it without quotes", "必须是数字；请不要加引号"),
    "bool_type": ("must be true or false", "必须是 true 或 false"),
    "string_type": ("must be a text; put it in quotes", "必须是文本；请加引号"),
    "string_pattern_mismatch": (
        "may have letters, digits, '-' and '_' only, at most 128; choose another name",
        "只能包含字母、数字、“-”和“_”，最多 128 个字符；请更换名称",
    ),
    "greater_than": ("must be greater than {gt}; raise it", "必须大于 {gt}；请调大"),
    "greater_than_equal": ("must be at least {ge}; raise it", "不得小于 {ge}；请调大"),
    "timezone_aware": ("needs a time zone; add Z for UTC", "缺少时区；UTC 时间请加 Z"),
    "string_too_short": (
        "must have at least {min_length} character; write it down",
        "至少 {min_length} 个字符；请填写",
    ),
    "string_too_long": (
        "must have at most {max_length} characters; shorten it",
        "最多 {max_length} 个字符；请缩短",
    ),
    "enum": ("must be one of {expected}; choose one", "必须是 {expected} 之一；请选择其一"),
    "dict_type": (
        "must be names with values, such as {{zone: east}}",
        "必须是名称与值的映射，例如 {{zone: east}}",
    ),
    "list_type": (
        "must be a list of nodes, such as\n    {example}",
        "必须是节点列表，例如\n    {example}",
    ),
    "model_type": (
        "must be a node with fields, such as\n    {example}",
        "必须是带字段的节点，例如\n    {example}",
    ),
    "devices": (
        "gives devices that do not name each of its {gpus} GPU(s) once; correct gpus or devices",
        "devices 未将 {gpus} 个 GPU 各列出一次；请更正 gpus 或 devices",
    ),
}


def violations_of(error: Exception) -> list[Violation]:
    """Return every broken rule that a parser's error tells of."""
    if isinstance(error, ValidationError):
        return [_violation(each) for each in error.errors()]
    en, zh = "is not valid YAML in UTF-8: {}; correct it", "不是有效的 UTF-8 YAML：{}；请更正"
    why = " ".join(str(error).split())
    return [Violation(code="YAML", path="$", en=en.format(why), zh=zh.format(why))]


def _violation(error: ErrorDetails) -> Violation:
    given = {"example": _EXAMPLE, "msg": error["msg"], **error.get("ctx", {})}
    en, zh = _RULES.get(error["type"], ("{msg}; correct it", "{msg}；请更正"))
    return Violation(
        code=error["type"].upper(),
        path="$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error["loc"]),
        en=en.format_map(given),
        zh=zh.format_map(given),
    )
