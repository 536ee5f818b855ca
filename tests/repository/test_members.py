"""What no linter knows about the workspace's members: they say what they need, and move in step."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = [ROOT / "shared", *sorted((ROOT / "services").iterdir()), ROOT / "cli"]

# Names of modules whose distribution is called otherwise, or is a part of another one's interface.
DISTRIBUTIONS = {
    "nats": "nats-py",
    "opentelemetry": "opentelemetry-sdk",
    "prometheus_client": "prometheus-client",
    "pydantic_core": "pydantic",
    "pydantic_settings": "pydantic-settings",
    "starlette": "fastapi",
    "yaml": "pyyaml",
}


def project(member: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    return table


def modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_all_members_carry_one_version() -> None:
    assert len({project(member)["version"] for member in MEMBERS}) == 1


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_member_names_every_library_that_it_imports(member: Path) -> None:
    table = project(member)
    extras = [need for needs in table.get("optional-dependencies", {}).values() for need in needs]
    named = {re.split(r"[\[<>=]", need)[0] for need in (*table["dependencies"], *extras)}
    tops = {
        name.partition(".")[0] for _, tree in modules(member / "src") for name in imported(tree)
    }
    libraries = {DISTRIBUTIONS.get(top, top) for top in tops - sys.stdlib_module_names - {"muster"}}
    assert libraries <= named


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_muster_is_a_namespace_that_every_member_adds_to(member: Path) -> None:
    assert not (member / "src" / "muster" / "__init__.py").exists()
    assert not (member / "src" / "__init__.py").exists()


def cores() -> list[Path]:
    return [path for member in MEMBERS for path in member.glob("src/muster/*/core")]


IMPURE_CALLS = {"breakpoint", "eval", "exec", "input", "open", "print"}
CLOCKS = {"now", "today", "utcnow"}


@pytest.mark.parametrize("core", cores(), ids=lambda path: path.parent.name)
def test_a_decision_neither_waits_nor_looks_at_a_clock(core: Path) -> None:
    """Imports are the contract's work (`make imports`); this is what needs none."""
    for path, tree in modules(core):
        for node in ast.walk(tree):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global), place
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in IMPURE_CALLS, place
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                is_clock = owner.endswith(("datetime", "date")) and node.func.attr in CLOCKS
                assert not is_clock, place


@pytest.mark.parametrize("name", ["virtualenv", "build", "runtime", "report", "dev"])
def test_requirements_are_pinned_by_hash_and_name_no_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert "://" not in text
    assert "--index" not in text
    pins = re.split(r"\n(?=\S)", text.strip())
    assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)


@pytest.mark.parametrize("name", ["virtualenv", "build", "runtime", "report", "dev"])
def test_every_requirement_has_its_reason(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.in").read_text().splitlines()
    needs = [line for line in lines if line and not line.startswith(("#", "-"))]
    assert all(re.search(r"\S\s+# \w", need) for need in needs)


def test_dev_holds_everything_that_runtime_pins() -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^[a-z0-9-]+==\S+", text, re.MULTILINE))

    assert pins("runtime") | pins("report") <= pins("dev")
