"""The search for secrets finds one wherever it was planted; what it finds nothing in is clean."""

from __future__ import annotations

import base64
import sqlite3
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.support import leaks
from tests.support.leaks import KEY, TOKEN

ENCODED = [base64.b64encode(b"x" * shift + TOKEN.encode() + b"tail").decode() for shift in range(3)]


@pytest.mark.parametrize(
    "text",
    [TOKEN, KEY, TOKEN.upper(), quote(KEY, safe=""), TOKEN.encode().hex(), KEY[::-1], *ENCODED],
)
def test_a_secret_is_found_in_every_disguise(text: str) -> None:
    assert leaks.found_in(f"before {text} after", "plants")
    with pytest.raises(AssertionError, match="printed"):
        leaks.heard(text)


def test_what_is_no_secret_is_not_found() -> None:
    assert not leaks.found_in("mark, token, key, and https://open.feishu.cn/****abcd", "plants")


def test_a_secret_in_a_database_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (url TEXT)")
        connection.execute("INSERT INTO t VALUES (?)", (f"https://host/hook/{TOKEN}",))
    connection.close()
    (tmp_path / "given-webhook").write_text(TOKEN)
    assert leaks.in_files(tmp_path) == [str(path)]
    path.unlink()


@pytest.mark.parametrize("before", [0, 2**24 - 5, 3 * 2**24 + 7])
def test_a_secret_in_a_big_file_is_found_wherever_it_stands(tmp_path: Path, before: int) -> None:
    path = tmp_path / "big.log"
    path.write_bytes(b"x" * before + TOKEN.encode("utf-16-le") + b"x")
    assert leaks.in_files(tmp_path) == [str(path)]
    path.unlink()


def test_a_hole_is_not_read_but_what_stands_behind_it_is(tmp_path: Path) -> None:
    path, read = tmp_path / "sparse.log", leaks.searched["bytes"]
    with path.open("wb") as file:
        file.truncate(10 * 2**30)
    assert leaks.in_files(tmp_path) == []
    with path.open("ab") as file:
        file.write(KEY.encode())
    assert leaks.in_files(tmp_path) == [str(path)]
    assert leaks.searched["bytes"] - read < 2**20
    path.unlink()


@pytest.mark.postgres
def test_a_secret_in_a_server_is_found(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE clean (url TEXT)")
        connection.execute("CREATE TABLE t (url TEXT)")
        connection.execute("INSERT INTO t VALUES (%s)", (KEY,))
        assert leaks.in_postgres(postgres_url) == ["t"]
        connection.execute("DROP TABLE t")
