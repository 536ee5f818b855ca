"""Searches all that tests leave behind for the secrets that they were given.

Every webhook and signing key of a test of the notifier holds one mark. After each test its files
(NATS stores, SQLite, logs), its captured logs and output are searched for it, plain and in the
disguises that a client or a library may put it into; so are PostgreSQL databases before they are
dropped, and at the end the metrics, and the spans if MUSTER_TEST_LEAKS asks for them. What was
searched is said in the last lines of a run.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from prometheus_client import REGISTRY, generate_latest
from psycopg import sql

MARK = "Mark7f3A91c4"
TOKEN = f"{MARK}-token-of-a-bot"
KEY = f"{MARK}/signing+key"
GIVEN = frozenset({"given-webhook", "given-secret", "given-rules.yaml"})
"""Names of files in which a test hands a secret over; nothing else may hold one."""

searched: Counter[str] = Counter()
"""What was searched so far: how many of what, and bytes."""
_late: list[str] = []


def _disguises() -> tuple[bytes, ...]:
    """Return what the mark looks like, in lower case: every secret holds it."""
    mark = MARK.encode()
    forms = {mark, mark[::-1], mark.hex().encode(), MARK.encode("utf-16-le"), *_in_base64(mark)}
    return tuple(sorted(form.lower() for form in forms))


def _in_base64(mark: bytes) -> Iterator[bytes]:
    """Yield what the mark looks like inside base64, at each of three places."""
    for before in range(3):
        padded = base64.b64encode(b"\0" * before + mark)
        inner = padded[(8 * before + 5) // 6 : len(padded) - 4]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


_FORMS = _disguises()
_OVERLAP = max(map(len, _FORMS)) - 1
_CHUNK = 1 << 24


def found_in(data: bytes | str, what: str) -> bool:
    """Search some bytes in any case, and count them."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    searched[what] += 1
    return _search(raw)


def _search(raw: bytes) -> bool:
    searched["bytes"] += len(raw)
    lower = raw.lower()
    return any(form in lower for form in _FORMS)


def heard(text: str) -> None:
    """Search what a process of a test said."""
    assert not found_in(text, "outputs"), "a secret was printed"


def in_files(folder: Path) -> list[str]:
    """Return the files below a folder that hold a secret."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.name in GIVEN or path.is_symlink() or not path.is_file():
            continue
        with suppress(OSError):  # a server's own file, gone meanwhile
            searched["files"] += 1
            if any(map(_search, _pieces(path))):
                found.append(str(path))
    return found


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield what a file holds, in pieces that overlap. Its holes are not read."""
    with path.open("rb") as file:
        size, end = os.fstat(file.fileno()).st_size, 0
        while end < size:
            try:
                start = os.lseek(file.fileno(), end, getattr(os, "SEEK_DATA", os.SEEK_SET))
            except OSError:  # nothing but a hole is left
                return
            file.seek(max(start - _OVERLAP, 0))
            piece = file.read(_CHUNK)
            if not piece:
                return
            yield piece
            end = file.tell()


def in_postgres(url: str) -> list[str]:
    """Return the tables of a database in which a secret stands as text."""
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        return [table for schema, table in names if _in_table(connection, schema, table)]


def _in_table(connection: psycopg.Connection[Any], schema: str, table: str) -> bool:
    query = sql.SQL("SELECT t::text FROM {}.{} AS t").format(
        sql.Identifier(schema), sql.Identifier(table)
    )
    rows = connection.execute(query).fetchall()
    return found_in("\n".join(row[0] or "" for row in rows), "tables")


class _Spans(SpanExporter):
    """Searches every span as it ends."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        _late.extend(f"span {span.name}" for span in spans if found_in(span.to_json(), "spans"))
        return SpanExportResult.SUCCESS


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Search the test's own folder when all that ran in it has ended."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        assert in_files(folder) == [], "a secret was stored"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Search what the test wrote to its logs and streams."""
    report = yield
    if report.when == "teardown":
        leaks = [name for name, text in report.sections if found_in(text, "captures")]
        if leaks:
            report.outcome = "failed"
            report.longrepr = f"a secret stands in: {', '.join(leaks)}"
    return report


def pytest_sessionstart() -> None:
    """Have spans, for whoever asks for them: tests alone record none."""
    if os.environ.get("MUSTER_TEST_LEAKS"):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(_Spans()))
        trace.set_tracer_provider(provider)


@pytest.fixture(scope="session", autouse=True)
def nothing_leaks_at_the_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Search what a whole session shares: metrics, spans, the store of its server."""
    yield
    late = [*_late, *(["metrics"] if found_in(generate_latest(REGISTRY), "metrics pages") else [])]
    shared = tmp_path_factory.getbasetemp().glob("nats*")
    late += [path for folder in shared for path in in_files(folder)]
    assert late == [], "a secret stands where a session leaves it"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what was searched to the process that tells it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["searched"] = json.dumps(searched)


class Workers:
    """Adds up what the processes of a run have searched; only where there are several."""

    def pytest_testnodedown(self, node: Any) -> None:
        searched.update(json.loads(getattr(node, "workeroutput", {}).get("searched", "{}")))


def pytest_configure(config: pytest.Config) -> None:
    """Hear of the other processes, if the run has any."""
    if config.pluginmanager.has_plugin("xdist") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Workers(), "leaks of workers")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was searched."""
    counts = ", ".join(f"{searched[what]:,} {what}" for what in sorted(searched))
    terminalreporter.write_line(f"searched for secrets: {counts}")
