"""Following a log: every byte once, whatever is in it and whenever it is written."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.executor.backends.local.logs import LINE_LIMIT, Line, follow


async def all_of(path: Path, offset: int = 0) -> list[Line]:
    """Every line of a log whose worker has ended."""
    ended = asyncio.Event()
    ended.set()
    return [line async for line in follow(path, offset, ended=ended)]


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


async def one(lines: AsyncIterator[Line]) -> Line:
    return await asyncio.wait_for(anext(lines), 15)


async def test_yields_lines_with_the_offset_of_the_next(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\ntwo\n\nlast")
    assert await all_of(log) == [
        Line("one", 5),
        Line("two", 9),
        Line("", 10),
        Line("last", 14, whole=False),
    ]


async def test_goes_on_from_any_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo\nthree\n")
    lines = await all_of(log)
    assert [line.text for line in await all_of(log, lines[0].end)] == ["two", "three"]
    assert await all_of(log, lines[-1].end) == []


async def test_waits_for_a_file_and_for_the_rest_of_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = asyncio.Event()
    lines = follow(log, ended=ended, pause=0.01)
    first = asyncio.ensure_future(one(lines))
    await asyncio.sleep(0)
    append(log, b"he")
    await asyncio.sleep(0.03)
    assert not first.done()
    append(log, b"llo\nnext")
    assert await first == Line("hello", 6)
    ended.set()
    assert await one(lines) == Line("next", 10, whole=False)
    assert [line async for line in lines] == []


async def test_what_is_written_before_the_end_is_told_is_never_lost(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = asyncio.Event()
    lines = follow(log, ended=ended, pause=60)
    append(log, b"one\n")
    assert await one(lines) == Line("one", 4)
    rest = asyncio.ensure_future(one(lines))
    await asyncio.sleep(0.01)
    append(log, b"two\n")
    ended.set()  # wakes it, long before its pause is over
    assert await rest == Line("two", 8)


async def test_a_long_line_comes_in_pieces_not_cut_inside_a_character(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" + "é".encode() * LINE_LIMIT + b"\nshort\n")
    lines = await all_of(log)
    assert all(len(line.text.encode()) <= LINE_LIMIT for line in lines)
    assert [line.whole for line in lines] == [False, False, True, True]
    assert "".join(line.text for line in lines[:3]) == "x" + "é" * LINE_LIMIT
    assert lines[3].text == "short"


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a\xff\xfeb\n" + b"\x80" * (LINE_LIMIT + 1) + b"\n")
    lines = await all_of(log)
    assert lines[0].text == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"
    assert [len(line.text) for line in lines[1:]] == [LINE_LIMIT, 1]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"a", b"\n", b"\r", "中".encode(), b"\xff"]), st.integers(1, 40_000)
        ),
        max_size=6,
    )
)
def test_every_byte_is_yielded_once_and_in_order(parts: list[tuple[bytes, int]]) -> None:
    content = b"".join(piece * count for piece, count in parts)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(content)
        lines = asyncio.run(all_of(log))
    start = 0
    for line in lines:
        raw = content[start : line.end]
        assert raw.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace") == line.text
        assert len(raw) <= LINE_LIMIT + 1
        start = line.end
    assert start == len(content)
