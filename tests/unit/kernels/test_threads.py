"""Kernels on eight threads at once give the bits that one thread gives, with the GIL or without."""

from __future__ import annotations

import csv
import json
import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, get_ident
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from rag_eval import _native, build_tfidf_vectors, evaluate_batch, run_file, text
from rag_eval.inputs.opened import START, Input
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.kernels.scoring import metric_numbers, score_batch
from rag_eval.kernels.settings import settings_of
from rag_eval.kernels.similarity import dice_similarities, lcs_ratios, levenshteins
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.options.plan import make_plan
from rag_eval.retrieval import evaluate_rankings
from rag_eval.scoring.faulty_rows import pack_file_block
from rag_eval.stats.resampling import resampled_sums
from tests.grounded_samples import plain_corpus

THREADS: Final = 8
ROUNDS: Final = 8

ROWS = [
    {**row, "ground_truth": " ".join(row.get("ground_truth") or [])} for row in plain_corpus(80, 7)
]
ANSWERS = [row["answer"] for row in ROWS]
QUESTIONS = [row["question"] for row in ROWS]
NUMBERS = np.random.default_rng(7).standard_normal((400, 6)) * np.logspace(-9, 9, 6)
TABLE = pa.table({name: [row[name] for row in ROWS] for name in ("question", "answer", "contexts")})
QRELS = {str(query): {str(doc): doc % 3 for doc in range(query, 60)} for query in range(40)}
RUN = {
    query: {doc: float(hash_of % 11) for hash_of, doc in enumerate(docs, int(query))}
    for query, docs in QRELS.items()
}


def batch_scores(samples: Any, profile: str = "overlap") -> bytes:
    result = evaluate_batch(samples, profile=profile, threads=1)
    return result.scores.tobytes() + result.null_reasons.tobytes()


def file_scores(path: Path) -> bytes:
    needs, found = FieldNeeds.of(METRIC_IDS), b""
    for block in Input(path).blocks(START):
        _, batch = pack_file_block(block, needs, skip_invalid=False)
        scores, reasons = score_batch(batch, settings_of({}), metric_numbers(METRIC_IDS))
        found += scores.tobytes() + reasons.tobytes()
    return found


def moments() -> bytes:
    sums = ExactMoments()
    for column in NUMBERS.T:
        sums.add(np.ascontiguousarray(column))
    return repr((sums.count, sums.total, sums.squares)).encode()


def count_matrices() -> bytes:
    left, right = text.tokenize_batch(QUESTIONS), text.tokenize_batch(ANSWERS)
    found = text.paired_tfidf_similarity(QUESTIONS, ANSWERS).tobytes()
    return found + left.counts.indices.tobytes() + right.counts.data.tobytes()


def verdicts() -> bytes:
    plan = make_plan(None, {"profile": "grounded"})
    found = verdicts_of(np.abs(NUMBERS.reshape(-1, 6))[:, [0, 1, 2, 3, 4, 5, 0]], plan.rule)
    return found.composite.tobytes() + found.metric_passed.tobytes() + found.passed.tobytes()


def text_kernels() -> bytes:
    words = [(text.tokenize(answer), text.split_sentences(answer)) for answer in ANSWERS]
    vectors = build_tfidf_vectors(QUESTIONS[0], ANSWERS)
    f1 = [text.token_f1(*pair) for pair in zip(QUESTIONS, ANSWERS, strict=True)]
    return repr((words, vectors, f1)).encode()


def result_rows(path: Path) -> bytes:
    output, found = path.with_name(f"{get_ident()}.jsonl"), b""
    for profile in ("overlap", "grounded"):
        run_file(path, output=output, profile=profile, details=True, threads=1)
        found += output.read_bytes()
    return re.sub(rb'"evaluatedAt":"[^"]*"', b"", found)


WORK: Final[dict[str, Callable[[Path], bytes]]] = {
    "arrow_stream": lambda path: batch_scores(TABLE),
    "arrow_texts": lambda path: batch_scores(TABLE.slice(3, 70)),
    "count_matrices": lambda path: count_matrices(),
    "filled_rows": result_rows,
    "grounded_block": lambda path: batch_scores(ROWS, "grounded"),
    "line_scans": lambda path: file_scores(path) + file_scores(path.with_suffix(".csv")),
    "overlap_block": lambda path: batch_scores(ROWS),
    "rankings": lambda path: repr(
        evaluate_rankings(RUN, QRELS, ["ndcg@5", "map", "bpref"])
    ).encode(),
    "resampling": lambda path: resampled_sums(NUMBERS, 2_000, 3, 1).tobytes(),
    "score_columns": lambda path: moments() + verdicts(),
    "string_similarity": lambda path: b"".join(
        measure(QUESTIONS, ANSWERS).tobytes()
        for measure in (dice_similarities, lcs_ratios, levenshteins)
    ),
    "text_columns": lambda path: b"".join(part.tobytes() for part in text.pack("", ANSWERS * 20)),
    "text_kernels": lambda path: text_kernels(),
}


@pytest.fixture
def samples_file(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with path.with_suffix(".csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["question", "answer", "contexts", "ground_truth"], "")
        table.writeheader()
        table.writerows({**row, "contexts": json.dumps(row["contexts"])} for row in ROWS)
    return path


@pytest.fixture
def _many_switches() -> Iterator[None]:
    """Where there is a GIL, threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def test_every_kernel_is_run() -> None:
    modules = {module.name for module in pkgutil.iter_modules(_native.__path__)}
    assert set(WORK) == modules - {"_memoryviews"}  # code that they share


@pytest.mark.usefixtures("_many_switches")
@pytest.mark.parametrize("kernel", sorted(WORK))
def test_eight_threads_give_the_bits_of_one(kernel: str, samples_file: Path) -> None:
    work = WORK[kernel]
    wanted = work(samples_file)
    assert len(wanted) > 100
    together = Barrier(THREADS)

    def rounds(_: int) -> list[bool]:
        together.wait()
        return [work(samples_file) == wanted for _ in range(ROUNDS)]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(rounds, range(THREADS)))
    assert found == [[True] * ROUNDS] * THREADS


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="for free-threaded builds of Python"
)
def test_kernels_leave_the_gil_off() -> None:
    """An extension module that does not declare itself safe would switch the GIL on."""
    imports = "; ".join(f"import rag_eval._native.{kernel}" for kernel in WORK)
    code = f"import sys; {imports}; print(sys._is_gil_enabled())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.stdout.strip(), found.stderr) == ("False", "")
