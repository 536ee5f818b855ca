"""`muster usage`: what the gateway says, what the log says without it, and how it is shown."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import typer
from rich.console import Console

from muster.cli.commands import usage as command
from muster.cli.errors import CliError, Refusal
from muster.cli.metering import Asked, from_gateway, from_log, gateway_url
from muster.cli.session import Session
from muster.cli.stack.folder import StateFolder, this_process
from muster.cli.views.usage import usage_lines, usage_table
from muster.contracts import subjects
from muster.contracts.usage import UsageAnswer, usage_rows, usage_sum
from muster.domain.metering import Used
from muster.domain.nodes import NodeState
from muster.gateway.core.filters import JobFilter
from muster.log import Recorded
from tests.gateway.worlds import World

HOUR = 3_600_000_000
AT = datetime(2030, 1, 1, tzinfo=UTC)


def answer(**more: object) -> UsageAnswer:
    by = ("tenant", "phase", "label:team")
    waits = Used(1, 2 * HOUR, 2 * HOUR, 0, 0)
    runs = Used(2, 3 * HOUR, 0, 3 * HOUR * 8000, 0)
    values = {
        "source": "archive",
        "by": by,
        "until": AT,
        "rows": usage_rows(
            by, [(("acme", "running", "vision"), runs), (("acme", "queued", ""), waits)]
        ),
        "total": usage_sum(Used(3, 5 * HOUR, 2 * HOUR, 3 * HOUR * 8000, 0)),
        "groups": 2,
        "gaps": 0,
        "whole": True,
        "position": 9,
    }
    return UsageAnswer.model_validate(values | more)


def printed(found: UsageAnswer) -> list[str]:
    console = Console(width=160, file=io.StringIO())
    with console.capture() as capture:
        console.print(usage_table(found), *usage_lines(found), sep="\n")
    return capture.get().splitlines()


def test_waiting_stands_in_the_table_and_costs_nothing() -> None:
    title, runs, waits, every, said = printed(answer())
    assert title.split() == [
        "TENANT",
        "PHASE",
        "team",
        "JOBS",
        "TIME",
        "WAITING",
        "GPU-S",
        "WAITING",
        "GPU-HOURS",
    ]
    assert runs.split() == ["acme", "running", "vision", "2", "3h00m", "0.0s", "0", "24.00"]
    assert waits.split() == ["acme", "queued", "-", "1", "2h00m", "2h00m", "0", "0"]
    assert every.split() == ["all", "3", "5h00m", "2h00m", "0", "24.00"]
    assert said == "waiting costs nothing: 2h00m waited, 0 GPU-seconds"


def test_the_same_in_chinese(chinese: None) -> None:
    lines = printed(answer())
    assert "运行中" in lines[1]
    assert "排队中" in lines[2]
    assert lines[-1] == "等待不计费：共等待 2h00m，0 GPU 秒"


def test_what_the_figures_do_not_have_is_told() -> None:
    text = "\n".join(printed(answer(source="log", whole=False, gaps=2, groups=7)))
    assert "no gateway could be asked" in text
    assert "older events are still being metered" in text
    assert "of 2 job(s) some events are missing" in text
    assert "5 more row(s)" in text
    nothing = answer(rows=(), groups=0, total=usage_sum(Used()))
    assert printed(nothing)[-1] == "no job used anything in this time"


@pytest.mark.parametrize("text", ["node", "tenant,tenant", "label:", ""])
def test_a_wrong_dimension_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="label:KEY"):
        command._dimensions([text])
    assert command._dimensions(["tenant, user", "label:team"]) == ("tenant", "user", "label:team")


# --- where the gateway is ------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MUSTER_GATEWAY_URL", "MUSTER_NATS_URL", "MUSTER_GATEWAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUSTER_STATE", str(tmp_path))
    return tmp_path


def test_the_gateway_is_that_of_the_muster_that_is_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gateway_url(Session()) is None
    up = this_process(AT).model_copy(update={"gateway": "http://127.0.0.1:1"})
    StateFolder(folder).write(up)
    assert gateway_url(Session()) == "http://127.0.0.1:1"
    monkeypatch.setenv("MUSTER_NATS_URL", "nats://elsewhere")
    assert gateway_url(Session()) is None
    monkeypatch.setenv("MUSTER_GATEWAY_URL", "https://muster.example")
    assert gateway_url(Session()) == "https://muster.example"
    assert gateway_url(Session(state=folder)) == "http://127.0.0.1:1"


@contextmanager
def served(status: int, body: bytes, seen: list[tuple[str, str | None]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_the_gateway_is_asked_with_every_filter_and_the_token(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_GATEWAY_TOKEN", "secret")
    wanted = JobFilter("acme", "张伟", "west", labels=("team=a b", "x"))
    asked = Asked(("tenant", "label:团队"), AT, AT + timedelta(hours=1), wanted, 5)
    seen: list[tuple[str, str | None]] = []
    with served(200, answer().model_dump_json().encode(), seen) as url:
        assert await from_gateway(url + "/", asked) == answer()
    ((path, token),) = seen
    assert (urlsplit(path).path, token) == ("/api/v1/usage", "Bearer secret")
    assert sorted(parse_qsl(urlsplit(path).query)) == sorted(
        [
            ("by", "tenant"),
            ("by", "label:团队"),
            ("since", "2030-01-01T00:00:00+00:00"),
            ("until", "2030-01-01T01:00:00+00:00"),
            ("tenant", "acme"),
            ("user", "张伟"),
            ("pool", "west"),
            ("label", "team=a b"),
            ("label", "x"),
            ("top", "5"),
        ]
    )


@pytest.mark.parametrize(("status", "body"), [(503, b"{}"), (500, b""), (200, b"<html>")])
async def test_a_gateway_that_cannot_answer_is_no_gateway(
    folder: Path, status: int, body: bytes
) -> None:
    with served(status, body, []) as url:
        assert await from_gateway(url, Asked(("tenant",))) is None
    assert await from_gateway(url, Asked(("tenant",))) is None  # nobody listens any more
    assert await from_gateway("file:///etc/passwd", Asked(("tenant",))) is None


async def test_a_refusal_is_told_and_not_gone_around(folder: Path) -> None:
    violation = {"code": "E_TOKEN", "path": "$.headers.authorization", "en": "e", "zh": "z"}
    body = json.dumps({"violations": [violation]}).encode()
    with served(401, body, []) as url, pytest.raises(Refusal) as refused:
        await from_gateway(url, Asked(("tenant",)))
    assert [each.code for each in refused.value.violations] == ["E_TOKEN"]
    with served(404, b"not here", []) as url, pytest.raises(CliError, match="status 404"):
        await from_gateway(url, Asked(("tenant",)))


# --- without a gateway ---------------------------------------------------------------------------


class Hot:
    """What can be asked of a log."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.filters: list[str] = []

    async def now(self) -> datetime:
        return self._world.clock.now()

    async def nodes(self) -> list[NodeState]:
        follower = await self._world.log.follow(("pools.*.nodes.*.*",))
        return [item.node for item in await follower.next() if isinstance(item, Recorded)]

    async def events(self, filters: Sequence[str]) -> AsyncIterator[Recorded]:
        self.filters += filters
        follower = await self._world.log.follow(filters)
        while page := await follower.next():
            for item in page:
                if isinstance(item, Recorded):
                    yield item


async def filled() -> World:
    world = World()
    await world.joined("n1")
    await world.ended("j1", gpus=4, labels={"team": "vision"})
    await world.queued("j2", tenant="zoo")
    world.clock.pass_by(seconds=100)
    return world


async def test_without_a_gateway_the_log_is_metered_and_that_is_said() -> None:
    hot = Hot(await filled())
    found = await from_log(hot, Asked(("job", "model")))  # type: ignore[arg-type]
    assert (found.source, found.whole, found.gaps) == ("log", True, 0)
    sums = {tuple(row.by.values()): row.gpu_seconds for row in found.rows}
    assert sums == {
        ("acme/j1", "A100"): 16.0,
        ("acme/j1", "?"): 16.0,
        ("acme/j1", None): 0.0,
        ("zoo/j2", None): 0.0,
    }
    assert found.total.gpu_seconds == 32.0
    assert found.total.waiting_gpu_seconds == 0.0
    one = await from_log(hot, Asked((), wanted=JobFilter(tenant="zoo")))  # type: ignore[arg-type]
    assert (one.total.jobs, hot.filters[-1]) == (1, "jobs.zoo.*.*")
    none = await from_log(hot, Asked((), wanted=JobFilter(labels=("x",))))  # type: ignore[arg-type]
    assert (none.rows, none.total.jobs) == ((), 0)


async def test_what_the_log_has_forgotten_is_counted_as_a_gap() -> None:
    world = await filled()
    last = world.store.entries[7]
    assert last.event is not None
    await world.log.trim(subjects.job_key("acme", "j1"), last.seq)
    found = await from_log(Hot(world), Asked(("job",)))  # type: ignore[arg-type]
    assert found.gaps == 1
    assert [row.by["job"] for row in found.rows] == ["zoo/j2"]


@pytest.mark.parametrize("as_json", [True, False])
async def test_the_command_falls_back_to_the_log(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    world = await filled()

    @asynccontextmanager
    async def reach(session: Session) -> AsyncIterator[Hot]:
        yield Hot(world)

    monkeypatch.setattr(command, "reach", reach)
    monkeypatch.setenv("MUSTER_GATEWAY_URL", "http://127.0.0.1:1")
    await command._usage(Session(as_json=as_json), Asked(("tenant",)))
    said = capsys.readouterr().out
    if as_json:
        document = json.loads(said)
        assert (document["source"], document["rows"][0]["by"]) == ("log", {"tenant": "acme"})
    else:
        assert "no gateway could be asked" in said
        assert "waiting costs nothing" in said
