"""Lets ``python -m pytest benchmarks`` collect ``bench_*.py``; the test suite does not."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Add the benchmarks' file names to those of tests."""
    config.addinivalue_line("python_files", "bench_*.py")
