"""From a parser's complaint to violations: every broken rule at once, with code, path and words.

Used by whoever reads what people wrote: admission for requests, the command line before sending.
The offending value is never repeated: it may be a secret.
"""

from __future__ import annotations

import builtins
import re
import types
from collections import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from muster.contracts.complaints import in_chinese
from muster.contracts.meant import meant
from muster.domain.rules import RULES, violation
from muster.domain.violations import Violation

M = TypeVar("M", bound=BaseModel)

_CODES: tuple[tuple[str, str], ...] = (
    (r"name", "E_NAME_INVALID"),
    (r"display_name", "E_DISPLAY_NAME"),
    (r"type", "E_JOB_TYPE"),
    (r"image", "E_IMAGE"),
    (r"command(\.\d+)?", "E_COMMAND"),
    (r"resource\.type", "E_RESOURCE_TYPE"),
    (r"resource\.replicas", "E_REPLICAS"),
    (r"(resource\.gpus_per_replica|ray\.head\.gpus)", "E_SPEC"),
    (r"resource\.gpu_milli_per_replica", "E_GPU_SHARE"),
    (r"(resource\.)?priority", "E_PRIORITY"),
    (r"resource\.stability_level", "E_STABILITY_LEVEL"),
    (r"node_policy\.type", "E_NODE_POLICY"),
    (r"node_policy\.nodes(\.\d+)?", "E_NODES_EMPTY"),
    (r"locality\.level", "E_LOCALITY_LEVEL"),
    (r"locality\.mode", "E_LOCALITY_MODE"),
    (r"tolerations", "E_TOLERATIONS"),
    (r"tolerations\.\d+\.(key|value)", "E_TOLERATION"),
    (r"auto_queue\.max_queue_hours", "E_MAX_QUEUE_HOURS"),
    (r"auto_queue\.(max_requeues|max_retries)", "E_MAX_REQUEUES"),
    (r"fault_tolerance\.max_retries", "E_MAX_RETRIES"),
    (r"fault_tolerance\.exit_codes", "E_EXIT_CODES"),
    (r"fault_tolerance\.log_keywords(\.\d+)?", "E_KEYWORD"),
    (r"fault_tolerance\.hang(\..+)?", "E_HANG"),
    (r"debug\.hold_seconds", "E_DEBUG_HOLD"),
    (r"environment\.\d+\.name", "E_ENV_NAME"),
    (r"environment(\.\d+\.value)?", "E_ENV_LIMIT"),
    (
        r"progress\.(checkpoint_loaded|checkpoint_saved|step|saving|evaluating|loading|over)(\.\d+)?",
        "E_PROGRESS_LINE",
    ),
    (r"metrics\.(port|path)", "E_METRICS"),
    (r"notifications\.\d+\.trigger", "E_RULE_TRIGGER"),
    (r"ray\.autoscaling\.(min|max)", "E_RAY_RANGE"),
    (r"ray\.autoscaling\.idle_timeout_s", "E_RAY_IDLE"),
    (r"ray\.autoscaling\.mode", "E_RAY_MODE"),
    (r"ray\.runtime_env", "E_RUNTIME_ENV"),
)

_ONLY: dict[str, frozenset[str]] = {
    "E_IMAGE": frozenset({"missing", "string_too_short"}),
    "E_COMMAND": frozenset({"missing", "too_short", "tuple_type"}),
    "E_LOCALITY_LEVEL": frozenset({"missing", "string_too_short", "string_too_long"}),
    "E_TOLERATION": frozenset({"string_too_short", "string_too_long"}),
    "E_TOLERATIONS": frozenset({"too_long", "tuple_type"}),
}
"""Rules whose words speak of some complaints alone: being empty is not being too long."""


def check(model: type[M], body: bytes | str, root: str = "$") -> tuple[M | None, list[Violation]]:
    """Parse JSON text by a model: the value, or every violation; root names the document."""
    try:
        return model.model_validate_json(body), []
    except ValidationError as error:
        return None, list(_violations(error, model, root))


def json_path(root: str, location: Iterable[int | str]) -> str:
    """Return `$.a.b[0]` for a location such as ("a", "b", 0)."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return root + "".join(parts)


def _violations(error: ValidationError, model: type[BaseModel], root: str) -> Iterable[Violation]:
    seen: set[tuple[str, str]] = set()
    entries = error.errors(include_url=False, include_input=False)
    for entry in entries:
        if entry["type"] == "too_short" and _item_of(entry["loc"], entries):
            continue  # items that are wrong are not counted: the list is not too short
        found = _one(entry, model, root)
        if (found.code, found.path) not in seen:
            seen.add((found.code, found.path))
            yield found


def _item_of(location: Sequence[int | str], entries: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether something inside of a list is wrong."""
    count = len(location)
    return any(len(each["loc"]) > count and each["loc"][:count] == location for each in entries)


def _one(entry: Mapping[str, Any], model: type[BaseModel], root: str) -> Violation:
    location = _without_branches(model, entry["loc"])
    path, dotted = json_path(root, location), ".".join(str(part) for part in location)
    match entry["type"]:
        case "extra_forbidden":
            return _unknown(model, location, path)
        case rule if rule in RULES:  # the model itself says which rule is broken
            return violation(rule, path)
        case "json_invalid":
            return violation("E_REQUEST", path, detail=entry["msg"], detail_zh=in_chinese(entry))
        case kind:
            for pattern, code in _CODES:
                if re.fullmatch(pattern, dotted) and _says_it(code, kind, location):
                    return violation(code, path)
            if kind == "missing":
                return violation("E_MISSING", path, field=dotted)
            detail, detail_zh = entry["msg"], in_chinese(entry)
            return violation(
                "E_TYPE", path, field=dotted or "$", detail=detail, detail_zh=detail_zh
            )


def _says_it(code: str, kind: str, location: Sequence[int | str]) -> bool:
    """Tell whether the words of a rule say what is wrong here."""
    if location and isinstance(location[-1], int) and kind.endswith("_type"):
        return False  # one item of another type: the words are about the list
    return kind in _ONLY.get(code, {kind})


def _without_branches(
    model: type[BaseModel], location: Iterable[int | str]
) -> tuple[int | str, ...]:
    """Drop the names of a union's branches, which pydantic puts behind the name of the field.

    What a part is, only its place can tell: a label may have any name.
    """
    here: Any = model
    parts: list[int | str] = []
    for part in location:
        inner = _inside(here, part)
        if inner is not None:
            parts.append(part)
            here = inner
    return tuple(parts)


def _inside(annotation: Any, part: int | str) -> Any | None:
    """Return what stands at a part of a value; None where a value has no parts."""
    here = _bare(annotation)
    if isinstance(here, type) and issubclass(here, BaseModel):
        field = here.model_fields.get(str(part))
        return field.annotation if field else object
    match get_origin(here):
        case builtins.tuple:
            return get_args(here)[0]
        case abc.Mapping:
            return get_args(here)[1]
    return None


def _bare(annotation: Any) -> Any:
    """Return an annotation without its constraints and without `| None`."""
    while True:
        inner = [each for each in get_args(annotation) if each is not type(None)]
        origin = get_origin(annotation)
        if origin is Annotated or (origin in {Union, types.UnionType} and len(inner) == 1):
            annotation = inner[0]
        else:
            return annotation


def _unknown(model: type[BaseModel], location: tuple[int | str, ...], path: str) -> Violation:
    field, here = str(location[-1]), _model_at(model, location[:-1])
    known = sorted(here.model_fields)
    close = meant(field, here, _model_in)
    hint = f"did you mean {close}?" if close else f"known here: {', '.join(known)}"
    hint_zh = f"是否应为 {close}？" if close else f"此处可用：{'、'.join(known)}"
    return violation("E_UNKNOWN_FIELD", path, field=field, hint=hint, hint_zh=hint_zh)


def _model_at(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    here: Any = model
    for part in location:
        here = _bare(_inside(here, part))
    found: type[BaseModel] = here
    return found


def _model_in(model: type[BaseModel], field: str) -> type[BaseModel] | None:
    inner = _bare(_inside(model, field))
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
