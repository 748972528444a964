"""One call of a profile's block kernel, for callgrind to count.

In: rows on stdin, one JSON list.  It calls ``score_block`` itself, on one block, with a fixed seed
and without numpy, so that the count is the same each time and the start is short.

    python -m benchmarks.kernel_workload overlap|grounded < ROWS.json
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from rag_eval._native import grounded_block, overlap_block
from rag_eval.overlap_settings import OverlapSettings

Column: TypeAlias = tuple[bytes, "array[int]"]

SEED = 0x5EED
N_METRICS = 7


def text_column(texts: Sequence[str]) -> Column:
    """UTF-8 bytes end to end, and where each text begins and ends."""
    encoded = [text.encode() for text in texts]
    return b"".join(encoded), array("q", accumulate(map(len, encoded), initial=0))


def row_columns(rows: Sequence[dict[str, Any]], *row_truths: array[int]) -> list[Any]:
    """Texts of all fields; with ``row_truths`` behind the ground truths."""
    contexts = [context for row in rows for context in row["contexts"]]
    return [
        *text_column([row["question"] for row in rows]),
        *text_column([row["answer"] for row in rows]),
        *text_column([row["groundTruth"] for row in rows]),
        *row_truths,
        *text_column(contexts),
        array("q", accumulate((len(row["contexts"]) for row in rows), initial=0)),
    ]


def score_grounded(rows: Sequence[dict[str, Any]]) -> memoryview[float]:
    """Scores of all rows and metrics in one call of the grounded kernel, languages detected."""
    shape = (len(rows), N_METRICS)
    scores = memoryview(bytearray(8 * len(rows) * N_METRICS)).cast("d", shape)
    score_block: Any = grounded_block.score_block  # takes any buffer, its stub says arrays
    score_block(
        *row_columns(rows, array("q", range(len(rows) + 1))),
        array("B", [7] * len(rows)),
        array("b", [-1] * len(rows)),
        *text_column([]),
        *text_column([]),
        array("q", range(N_METRICS)),
        SEED,
        0,
        len(rows),
        scores,
        memoryview(bytearray(len(rows) * N_METRICS)).cast("B", shape),
    )
    return scores


def score_rows(rows: Sequence[dict[str, Any]]) -> memoryview[float]:
    """Scores of all rows and metrics in one call of the overlap kernel."""
    settings = OverlapSettings()
    shape = (len(rows), N_METRICS)
    scores = memoryview(bytearray(8 * len(rows) * N_METRICS)).cast("d", shape)
    score_block: Any = overlap_block.score_block
    score_block(
        *row_columns(rows),
        array("q", range(N_METRICS)),
        array("q", map(int, settings.ngram_sizes)),
        array("q", map(int, settings.ngram_sizes)),
        array("d", settings.ngram_weights),
        array(
            "d",
            (
                settings.chunk_relevance_threshold,
                settings.claim_support_threshold,
                settings.sentence_coverage_threshold,
                settings.ngram_weight,
                settings.tfidf_weight,
            ),
        ),
        SEED,
        0,
        len(rows),
        scores,
        memoryview(bytearray(len(rows) * N_METRICS)).cast("B", shape),
    )
    return scores


if __name__ == "__main__":
    score = {"overlap": score_rows, "grounded": score_grounded}[sys.argv[1]]
    score(json.load(sys.stdin.buffer))
