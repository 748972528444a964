"""Judging without the judge: the machinery, beside a vendor's SDK, whole runs, jobs that wait.

Every judge here answers at once, from the same process or from a server on this machine.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import bare_sdk, judge_machinery, judged_runs
from benchmarks.bench_overlap import note, run_rounds
from benchmarks.instant_server import Provider

pytest.importorskip("stamina")

ROUNDS: Final = 7
N_CALLS: Final = 3_000
N_CALLS_OF_SDK: Final = 400
N_ROWS: Final = 200
N_PENDING: Final = 100_000


def test_judge_machinery(benchmark: BenchmarkFixture) -> None:
    found: dict[str, Any] = run_rounds(
        benchmark, lambda: judge_machinery.machinery(N_CALLS, ROUNDS), 1
    )
    note(benchmark, "judge_machinery", load=os.getloadavg(), **found)
    for rate, _, _ in found["calls_per_second"].values():
        assert rate >= judge_machinery.CALLS_PER_SECOND_BAR


def test_judge_jobs_that_wait(benchmark: BenchmarkFixture) -> None:
    found: dict[str, Any] = run_rounds(
        benchmark, lambda: judge_machinery.growth_elsewhere(N_PENDING), 1
    )
    note(benchmark, "judge_memory", **found)
    assert found["growth_mb"] <= judge_machinery.GROWTH_BAR_MB


@pytest.mark.parametrize("concurrency", bare_sdk.CONCURRENCIES)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_judge_beside_the_sdk(
    benchmark: BenchmarkFixture, provider: Provider, concurrency: int
) -> None:
    pytest.importorskip(provider)
    found: dict[str, Any] = run_rounds(
        benchmark, lambda: bare_sdk.figures(provider, concurrency, N_CALLS_OF_SDK, ROUNDS), 1
    )
    note(benchmark, "judge_sdk", load=os.getloadavg(), **found)
    assert found["ratio"][0] >= bare_sdk.RATIO_BAR


def test_judge_whole_runs(benchmark: BenchmarkFixture) -> None:
    found: dict[str, Any] = run_rounds(benchmark, lambda: judged_runs.run_rates(N_ROWS, ROUNDS), 1)
    note(benchmark, "judge_runs", rows=N_ROWS, runs=found, load=os.getloadavg())
