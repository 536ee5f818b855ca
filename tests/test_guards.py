"""What the whole product keeps by looking at its source: one way to subscribe, one to condition.

The server protects only writers that name the identical filter, and a subscription made elsewhere
would not retry, park or beat. A test of a rule that no type can hold.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path for part in ("shared", "services", "cli") for path in (ROOT / part).rglob("src/**/*.py")
)

SUBSCRIBING = frozenset(
    {"subscribe", "subscribe_bind", "pull_subscribe", "pull_subscribe_bind", "subscriber"}
)
MAY_SUBSCRIBE = ("muster/bus/", "muster/log/", "muster/client/")
CONSUMER_API = ("CONSUMER.CREATE", "CONSUMER.MSG.NEXT", "CONSUMER.DURABLE")
MAY_MAKE_CONSUMERS = ("muster/bus/", "muster/log/")
EXPECTED = "Nats-Expected-"
MAY_EXPECT = ("muster/contracts/conditions.py", "muster/client/restore.py")
"""A log is restored by sequence, into an empty stream: no key is conditioned on."""

FACTS_ABOUT = ("jobs.", "pools.", "tenants.", "clusters.")
MAY_BUILD_FILTERS = ("muster/contracts/subjects.py",)

Look = Callable[[ast.AST], bool]


def package_path(path: Path) -> str:
    """Return a path as the package sees it: `muster/log/memory.py`."""
    return path.as_posix().rpartition("/src/")[2]


def found(look: Look, allowed: tuple[str, ...], sources: list[Path] = SOURCES) -> list[str]:
    """Return where else than allowed the source has what is looked for."""
    return [
        f"{package_path(path)}:{getattr(node, 'lineno', 0)}"
        for path in sources
        if not package_path(path).startswith(allowed)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if look(node)
    ]


def subscribes(node: ast.AST) -> bool:
    """A call of a method by one of the names that make a subscription."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SUBSCRIBING
    )


def texts(node: ast.AST) -> Iterator[str]:
    """Yield the text of a string, also of the parts of one that is put together."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def makes_consumers(node: ast.AST) -> bool:
    """A string of the API that creates consumers or asks them for messages."""
    return any(name in text for text in texts(node) for name in CONSUMER_API)


def expects(node: ast.AST) -> bool:
    """A string that names a header of a condition; prose about it has spaces around."""
    return any(text.startswith(EXPECTED) for text in texts(node))


def builds_filter(node: ast.AST) -> bool:
    """A text put together from two names or more that is a key's filter, as conditions name it."""
    if not isinstance(node, ast.JoinedStr) or not node.values:
        return False
    names = sum(isinstance(value, ast.FormattedValue) for value in node.values)
    begins = any(text.startswith(FACTS_ABOUT) for text in texts(node.values[0]))
    ends = any(text.endswith(".>") for text in texts(node.values[-1]))
    return begins and ends and names > 1


@pytest.mark.parametrize(
    ("look", "allowed"),
    [
        pytest.param(
            subscribes, MAY_SUBSCRIBE, id="only the bus, the log and the client subscribe"
        ),
        pytest.param(makes_consumers, MAY_MAKE_CONSUMERS, id="only they make consumers"),
        pytest.param(expects, MAY_EXPECT, id="only the log's writing names conditions"),
        pytest.param(builds_filter, MAY_BUILD_FILTERS, id="only subjects builds filters"),
    ],
)
def test_nobody_else_does(look: Look, allowed: tuple[str, ...]) -> None:
    assert found(look, allowed) == []


@pytest.mark.parametrize(
    ("look", "source"),
    [
        (subscribes, "await connection.subscribe('a', cb=b)"),
        (subscribes, "js.pull_subscribe('a')"),
        (subscribes, "@broker.subscriber('a')\nasync def f(): ..."),
        (makes_consumers, "call(f'$JS.API.CONSUMER.CREATE.{stream}')"),
        (expects, "headers['Nats-Expected-Last-Subject-Sequence'] = '1'"),
        (builds_filter, "f'jobs.{tenant}.{job}.>'"),
    ],
)
def test_the_guard_sees_what_it_looks_for(look: Look, source: str, tmp_path: Path) -> None:
    path = tmp_path / "src" / "muster" / "somewhere.py"
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert found(look, ("muster/bus/",), [path])
    assert not found(look, ("muster/somewhere",), [path])
