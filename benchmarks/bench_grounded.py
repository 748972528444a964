"""The grounded profile: right first, then how fast, beside overlap and beside its definition."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import corpora, pure_python_baseline
from benchmarks.bench_overlap import loaded, note, race, shared_baseline
from benchmarks.corpora import Sample, text_bytes
from benchmarks.timing import Call, Spread, ratios
from rag_eval import evaluate_batch
from rag_eval.metrics.ids import METRIC_IDS
from tests.oracle import grounded as oracle

OVERLAP_BAR: Final = 2.1  # times overlap's time, on typical rows
PLAIN_BAR: Final = 14.0  # times as fast as plain Python scores by overlap
# Rows that the definition scores in about a second.
PLAIN_ROWS: Final = {"typical": 30, "long": 3}


def grounded_scores(rows: list[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The score matrix on one thread."""
    return evaluate_batch(rows, threads=1, profile="grounded").scores


def definition() -> Callable[[Sample], Any] | None:
    """The script that defines the profile, if it lies beside the data folder."""
    path = corpora.data_folder().parent / "spec" / "grounded_reference.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("grounded_definition", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    evaluate: Callable[[Sample], Any] = module.evaluate
    return evaluate


def respelt(rows: list[Sample]) -> list[Sample]:
    """Rows in the spelling that plain Python reads."""
    return [{**row, "ground_truth": row["groundTruth"]} for row in rows]


def check_scores(rows: list[Sample]) -> None:
    """The oracle gives the library's scores."""
    got = grounded_scores(rows)
    for row, scores in zip(respelt(rows), got, strict=True):
        want = oracle.evaluate(row).scores
        for metric, score in zip(METRIC_IDS, scores, strict=True):
            expected = want[metric]
            assert expected is not None
            assert abs(expected - score) <= 1e-9


@pytest.mark.parametrize("name", ["typical", "long"])
def test_grounded_beside_overlap(benchmark: BenchmarkFixture, name: str) -> None:
    rows, source = loaded(name)
    few = respelt(rows[: PLAIN_ROWS[name]])
    check_scores(rows[: PLAIN_ROWS[name]])
    slow: dict[str, tuple[Callable[[Sample], Any], list[Sample]]] = {
        "oracle": (oracle.evaluate, few),
        "plain": (shared_baseline() or pure_python_baseline.score, rows),
    }
    script = definition()
    if script is not None:
        slow["definition"] = (script, few)
    others: dict[str, Call] = {"overlap": lambda: evaluate_batch(rows, threads=1).scores}
    for other, (score, some) in slow.items():
        others[other] = partial(_score_each, score, some)
    seconds = race(benchmark, lambda: grounded_scores(rows), others)
    each = {
        other: [second / len(slow[other][1] if other in slow else rows) for second in taken]
        for other, taken in seconds.items()
    }
    times = {other: ratios(each["library"], each[other]) for other in others}
    as_fast = ratios(each["plain"], each["library"])
    note(
        benchmark,
        "grounded",
        set=name,
        source=source,
        rows=len(rows),
        text_mb=text_bytes(rows) / 1e6,
        us_per_sample={
            other: Spread.of(taken).times(1e6).as_list() for other, taken in each.items()
        },
        times={other: spread.as_list() for other, spread in times.items()},
        times_plain=as_fast.as_list(),
        bars=[OVERLAP_BAR, PLAIN_BAR] if name == "typical" else [],
    )
    if name == "typical":
        assert times["overlap"].median <= OVERLAP_BAR
        assert as_fast.median >= PLAIN_BAR


def _score_each(score: Callable[[Sample], Any], rows: list[Sample]) -> None:
    for row in rows:
        score(row)
