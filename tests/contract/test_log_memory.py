"""The log in memory."""

from __future__ import annotations

import pytest

from tests.contract.log_suite import LogSuite
from tests.contract.log_worlds import MemoryWorld


class TestMemoryLog(LogSuite):
    @pytest.fixture
    def world(self) -> MemoryWorld:
        return MemoryWorld()
