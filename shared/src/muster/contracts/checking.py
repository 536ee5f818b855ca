"""From a parser's complaint to violations: every broken rule at once, with code, path and words.

Used by whoever reads what people wrote: admission for requests, the command line before sending.
The offending value is never repeated: it may be a secret.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from muster.domain.rules import violation
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
    (r"(resource\.)?priority", "E_PRIORITY"),
    (r"resource\.stability_level", "E_STABILITY_LEVEL"),
    (r"node_policy\.type", "E_NODE_POLICY"),
    (r"node_policy\.nodes(\.\d+)?", "E_NODES_EMPTY"),
    (r"auto_queue\.max_queue_hours", "E_MAX_QUEUE_HOURS"),
    (r"auto_queue\.(max_requeues|max_retries)", "E_MAX_REQUEUES"),
    (r"fault_tolerance\.max_retries", "E_MAX_RETRIES"),
    (r"fault_tolerance\.exit_codes", "E_EXIT_CODES"),
    (r"fault_tolerance\.log_keywords(\.\d+)?", "E_KEYWORD"),
    (r"fault_tolerance\.hang(\..+)?", "E_HANG"),
    (r"debug\.hold_seconds", "E_DEBUG_HOLD"),
    (r"environment\.\d+\.name", "E_ENV_NAME"),
    (r"environment(\.\d+\.value)?", "E_ENV_LIMIT"),
    (r"metrics\.(port|path)", "E_METRICS"),
    (r"notifications\.\d+\.trigger", "E_RULE_TRIGGER"),
    (r"ray\.autoscaling\.(min|max)", "E_RAY_RANGE"),
    (r"ray\.autoscaling\.idle_timeout_s", "E_RAY_IDLE"),
    (r"ray\.autoscaling\.mode", "E_RAY_MODE"),
    (r"ray\.runtime_env", "E_RUNTIME_ENV"),
)


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
    for entry in error.errors(include_url=False, include_input=False, include_context=False):
        found = _one(entry, model, root)
        if (found.code, found.path) not in seen:
            seen.add((found.code, found.path))
            yield found


def _one(entry: Mapping[str, Any], model: type[BaseModel], root: str) -> Violation:
    location = tuple(part for part in entry["loc"] if not _is_branch(part))
    path, dotted = json_path(root, location), ".".join(str(part) for part in location)
    match entry["type"]:
        case "extra_forbidden":
            return _unknown(model, location, path)
        case "json_invalid":
            return violation("E_REQUEST", path, detail=entry["msg"])
        case kind:
            for pattern, code in _CODES:
                if re.fullmatch(pattern, dotted):
                    return violation(code, path)
            if kind == "missing":
                return violation("E_MISSING", path, field=dotted)
            return violation("E_TYPE", path, field=dotted or "$", detail=entry["msg"])


def _is_branch(part: int | str) -> bool:
    """Tell a union's branch name, which pydantic puts into locations, from a field's name."""
    return (
        isinstance(part, str)
        and re.search(r"[\[\](),]|^constrained-|^literal|^int$", part) is not None
    )


def _unknown(model: type[BaseModel], location: tuple[int | str, ...], path: str) -> Violation:
    field = str(location[-1])
    known = _fields_at(model, location[:-1])
    close = difflib.get_close_matches(field, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(known))}"
    hint_zh = f"是否应为 {close[0]}？" if close else f"此处可用：{'、'.join(sorted(known))}"
    return violation("E_UNKNOWN_FIELD", path, field=field, hint=hint, hint_zh=hint_zh)


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    here: type[BaseModel] = model
    for part in location:
        if isinstance(part, int):
            continue
        field = here.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        here = inner
    return list(here.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
