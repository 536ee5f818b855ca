"""Reads the YAML that people write: one or more jobs a file, and where each field stands.

Stricter than YAML in three ways, so that what is sent is what was meant: a key given twice is an
error, dates stay text, and a document must be a mapping. Called by `submit`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.cli.errors import CliError
from muster.cli.texts import say

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Document:
    """One job as it was written. lines: JSON path -> line in the file, from 1."""

    source: str
    value: dict[str, Any]
    lines: Mapping[str, int]

    def line_of(self, path: str) -> int | None:
        """Return the line of a path such as `$.spec.resource`, or of the nearest field above it."""
        while path not in self.lines:
            if not path:
                return None
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines[path]


class _Loader(yaml.SafeLoader):
    """SafeLoader without dates."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_documents(file: str, root: str = "$.spec") -> list[Document]:
    """Return the jobs of a file ("-" reads standard input). Raises CliError."""
    text = _text(file)
    try:
        documents = list(_documents(file, text, root))
    except yaml.YAMLError as error:
        raise CliError("yaml", path=named(file), why=_why(error)) from error
    if not documents:
        raise CliError("no_documents", path=named(file))
    return documents


def named(file: str) -> str:
    """Return what a person calls this source."""
    return say("submit.stdin") if file == STDIN else file


def _text(file: str) -> str:
    try:
        if file == STDIN:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError("file_read", path=named(file), why=_why(error)) from error


def _documents(file: str, text: str, root: str) -> Iterator[Document]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or node.tag == "tag:yaml.org,2002:null":
                continue
            if not isinstance(node, yaml.MappingNode):
                raise CliError(
                    "yaml",
                    path=named(file),
                    why=say("usage.mapping", line=node.start_mark.line + 1),
                )
            lines = dict(_lines(node, root))
            yield Document(named(file), loader.construct_document(node), lines)
    finally:
        loader.dispose()


def _lines(node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
    """Yield the line of every field; a key that is given twice is an error."""
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, f"{path}[{index}]")
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name} is given twice", key.start_mark
                )
            seen.add(name)
            inner = f"{path}.{name}"
            yield from _lines(value, inner)
            yield inner, key.start_mark.line + 1


def _why(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).splitlines()[0]


def change(value: dict[str, Any], text: str) -> None:
    """Apply one `field.field=value` in place. Raises CliError.

    The value is read as YAML; where a text stood before, it stays text.
    """
    path, separator, raw = text.partition("=")
    parts = path.split(".")
    if not separator or not all(parts):
        raise CliError("set", change=text, why="field=value")
    try:
        new = yaml.load(raw, _Loader)
    except yaml.YAMLError as error:
        raise CliError("set", change=text, why=_why(error)) from error
    here: Any = value
    for part in parts[:-1]:
        here = _inside(here, part, text)
    _put(here, parts[-1], new, raw, text)


def _inside(here: Any, part: str, text: str) -> Any:
    if isinstance(here, dict):
        return here.setdefault(part, {})
    if isinstance(here, list) and part.isdigit() and int(part) < len(here):
        return here[int(part)]
    raise CliError("set", change=text, why=say("usage.no_field", field=part))


def _put(here: Any, part: str, new: Any, raw: str, text: str) -> None:
    if isinstance(here, dict):
        here[part] = raw if isinstance(here.get(part), str) else new
    elif isinstance(here, list) and part.isdigit() and int(part) <= len(here):
        at = slice(int(part), int(part) + 1)
        here[at] = [raw if any(isinstance(old, str) for old in here[at]) else new]
    else:
        raise CliError("set", change=text, why=say("usage.no_field", field=part))
