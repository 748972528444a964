"""Rankings: right first, then how fast, beside trec_eval in the same run."""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pytrec_eval
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.bench_overlap import ROUNDS, note, race, run_rounds
from benchmarks.timing import Spread, ratios, seconds_of
from rag_eval.retrieval import evaluate_arrays, evaluate_rankings, read_run, write_run

N_QUERIES: Final = 2_000
N_DOCUMENTS: Final = 100
# Ours and trec_eval's: the name, and how the evaluator is asked for it.
MEASURES: Final = {
    "ndcg@10": ("ndcg_cut_10", "ndcg_cut.10"),
    "map": ("map", "map"),
    "recip_rank": ("recip_rank", "recip_rank"),
    "P@10": ("P_10", "P.10"),
    "recall@100": ("recall_100", "recall.100"),
}
QUERIES_BAR: Final = 100_000
LINES_BAR: Final = 200_000


class Judged(NamedTuple):
    """A run, judgements, and both as integer arrays."""

    run: dict[str, dict[str, float]]
    qrels: dict[str, dict[str, int]]
    arrays: tuple[npt.NDArray[np.int64], ...]


@cache
def judged() -> Judged:
    """2,000 queries with 100 retrieved and 30 judged documents each, half of those retrieved."""
    rng = random.Random(20_260_101)
    run, qrels = {}, {}
    parts: list[list[list[int]]] = [[], [], []]
    for query in range(N_QUERIES):
        ranking = rng.sample(range(50_000), N_DOCUMENTS)
        others = rng.sample(range(50_000, 60_000), 15)
        grades = {d: rng.randint(0, 3) for d in rng.sample(ranking, 15) + others}
        run[f"q{query}"] = {f"d{d}": 1.0 / (place + 1) for place, d in enumerate(ranking)}
        qrels[f"q{query}"] = {f"d{d}": grade for d, grade in grades.items()}
        for part, values in zip(parts, (ranking, grades, grades.values()), strict=True):
            part.append(list(values))
    ids, documents, values = (np.concatenate(part) for part in parts)
    id_offsets = np.arange(N_QUERIES + 1) * N_DOCUMENTS
    return Judged(run, qrels, (ids, id_offsets, documents, values, np.arange(N_QUERIES + 1) * 30))


def trec_scores(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]) -> Any:
    """What pytrec_eval gives, its evaluator made anew."""
    asked = {asked for _, asked in MEASURES.values()}
    return pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)


def check_scores() -> None:
    """Mappings and arrays give trec_eval's numbers."""
    run, qrels, arrays = judged()
    rows = trec_scores(run, qrels)
    wanted = np.array([[rows[query][name] for name, _ in MEASURES.values()] for query in qrels])
    by_mapping = evaluate_rankings(run, qrels, MEASURES).values
    assert np.abs(by_mapping - wanted).max() <= 1e-14
    assert evaluate_arrays(*arrays, MEASURES).values.tobytes() == by_mapping.tobytes()


def test_times_trec_eval(benchmark: BenchmarkFixture) -> None:
    """Integer arrays, which trec_eval has no way to take, and mappings, as both do; one thread."""
    check_scores()
    run, qrels, arrays = judged()
    asked = {asked for _, asked in MEASURES.values()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, asked)
    others = {
        "trec_eval": lambda: evaluator.evaluate(run),
        "trec_eval_with_judgements": lambda: trec_scores(run, qrels),
        "mappings": lambda: evaluate_rankings(run, qrels, MEASURES),
    }
    seconds = race(
        benchmark, lambda: evaluate_arrays(*arrays, MEASURES), others, ROUNDS, time.process_time
    )
    per_second = {
        name: Spread.of([N_QUERIES / taken for taken in found]) for name, found in seconds.items()
    }
    note(
        benchmark,
        "rankings",
        queries=N_QUERIES,
        documents=N_DOCUMENTS,
        measures=len(MEASURES),
        queries_per_second={name: found.as_list() for name, found in per_second.items()},
        times=ratios(seconds["trec_eval"], seconds["library"]),
        times_mappings=ratios(seconds["trec_eval_with_judgements"], seconds["mappings"]),
        bar=QUERIES_BAR,
    )
    assert per_second["library"].median >= QUERIES_BAR


def test_a_million_lines(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    run = judged().run
    path = tmp_path / "run.txt"
    million = {f"{part}-{query}": run[query] for part in range(5) for query in run}
    # Of this process: neighbours on the machine would tell more of themselves.
    clock = time.process_time
    writing = seconds_of(lambda: write_run(path, million), clock)
    assert read_run(path) == million
    reading: list[float] = []
    run_rounds(benchmark, lambda: reading.append(seconds_of(lambda: read_run(path), clock)), 3)
    lines = sum(map(len, million.values()))
    note(
        benchmark,
        "run_files",
        lines=lines,
        writing_seconds=writing,
        reading_seconds=Spread.of(reading),
        bar=LINES_BAR,
    )
    assert lines / min(reading) >= LINES_BAR
