"""Each test begins in English, whatever another one has spoken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muster.cli import texts


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    texts.use("en")
    yield
    texts.use("en")


@pytest.fixture
def chinese() -> None:
    texts.use("zh")
