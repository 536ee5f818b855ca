"""Headers are read as the library reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from muster.runtime.nats_client import QuickClient

LINES = [
    b"",
    b"Nats-Msg-Id: 01abc",
    b"A:1\r\nB: 2 \r\n\tC\t:\t3\t\r\n",
    b"No colon\r\nIs: there",
    b"A: b: c",
    b"A b: c",
    b"\xff: x\r\nGood: \xff",
    b"Name: \xe4\xb8\xad\r\nName: again",
    b": empty name",
    b"Empty value:",
]


@pytest.mark.parametrize("raw", LINES)
def test_known_cases_are_read_alike(raw: bytes) -> None:
    assert QuickClient._parse_header_lines(raw) == Client._parse_header_lines(raw)


@given(
    st.lists(
        st.tuples(st.text("abcXYZ-09 \t", max_size=8), st.sampled_from(["", ":", ": "]), st.text())
    )
)
def test_any_lines_are_read_alike(lines: list[tuple[str, str, str]]) -> None:
    raw = "\r\n".join("".join(parts) for parts in lines).encode("utf-8", "replace")
    assert QuickClient._parse_header_lines(raw) == Client._parse_header_lines(raw)
