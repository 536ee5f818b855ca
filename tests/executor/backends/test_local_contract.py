"""The local backend is a backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.backend_suite import BackendSuite
from tests.executor.backends.local_cluster import LocalCluster


class TestLocalBackend(BackendSuite):
    @pytest.fixture
    def cluster(self, tmp_path: Path) -> LocalCluster:
        return LocalCluster(tmp_path)
