"""Reads files of scenarios. An error names the file, the scenario, the field and the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from muster.cli.simulation.scenario import Book


class _Loader(yaml.SafeLoader):
    """YAML in which `on` and `off` are words, as everybody expects."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, regex) for tag, regex in found if tag != "tag:yaml.org,2002:bool" or first in "tTfF"
    ]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class BadScenario(Exception):
    """A file of scenarios that cannot be used; the text says where and what to do."""


def read(path: Path) -> Book:
    """Return the scenarios of one file. Raises BadScenario."""
    try:
        raw = yaml.load(path.read_text("utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        raise BadScenario(f"{path.name}: no YAML: {error}; check indentation and quotes") from error
    if not isinstance(raw, dict):
        raise BadScenario(f"{path.name}: must be a mapping with `area` and `scenarios`")
    try:
        return Book.model_validate_json(json.dumps(raw))
    except (ValidationError, TypeError) as error:
        raise BadScenario("\n".join(_lines(path, raw, error))) from error


def _lines(path: Path, raw: dict[str, Any], error: ValidationError | TypeError) -> Iterator[str]:
    if isinstance(error, TypeError):
        yield f"{path.name}: {error}; write dates and other special values in quotes"
        return
    for each in error.errors(include_url=False):
        yield f"{path.name}: {_place(raw, each)}: {each['msg']}{_remedy(each)}"


def _place(raw: dict[str, Any], error: ErrorDetails) -> str:
    where = [str(part) for part in error["loc"]]
    if where[:1] == ["scenarios"] and len(where) > 1 and where[1].isdecimal():
        story = raw["scenarios"][int(where[1])]
        title = story.get("title", "without a title") if isinstance(story, dict) else "?"
        return f"scenario {int(where[1]) + 1} ({title}): field {'.'.join(where[2:]) or '(all)'}"
    return f"field {'.'.join(where)}"


def _remedy(error: ErrorDetails) -> str:
    match error["type"]:
        case "missing":
            return "; add it"
        case "extra_forbidden":
            return "; remove it, or correct its name"
        case "union_tag_invalid":
            return "; choose one of these for `do`"
        case "value_error":
            return ""
        case _:
            return f"; change the value {error.get('input')!r}"


def books(folder: Path) -> Iterator[tuple[Path, Book]]:
    """Yield every file of a folder, by name."""
    for path in sorted(folder.glob("*.yaml")):
        yield path, read(path)
