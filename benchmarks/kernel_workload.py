"""Calls of kernels, for callgrind to count.

In: calls on stdin, a line each, as JSON: the name of a workload and its rows.  A call is of the
kernel itself, on one block, with a fixed seed and without numpy, so that the count is the same each
time and the start is short.

    python -m benchmarks.kernel_workload < CALLS.jsonl    makes each in a child of this process
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import Any, Final, TypeAlias

from benchmarks.in_children import make_in_children
from rag_eval._native import grounded_block, overlap_block, string_similarity
from rag_eval._native import rankings as rankings_kernel
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, OverlapSettings

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
        array("d", SHIPPED_WEIGHTS),
        array("q", range(N_METRICS)),
        SEED,
        0,
        len(rows),
        scores,
        memoryview(bytearray(len(rows) * N_METRICS)).cast("B", shape),
        memoryview(bytearray(64)).cast("d", (1, 8))[:0],
    )
    return scores


def score_rows(rows: Sequence[dict[str, Any]], seed: int = SEED) -> memoryview[float]:
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
        seed,
        0,
        len(rows),
        scores,
        memoryview(bytearray(len(rows) * N_METRICS)).cast("B", shape),
    )
    return scores


def pair_columns(rows: Sequence[dict[str, Any]]) -> list[array[int]]:
    """UTF-16 units and offsets of the answers and of the ground truths."""
    columns = []
    for name in ("answer", "groundTruth"):
        units = [array("H", row[name].encode("utf-16-le")) for row in rows]
        columns += [
            array("H", chain.from_iterable(units)),
            array("q", accumulate(map(len, units), initial=0)),
        ]
    return columns


def pair_bytes(rows: Sequence[dict[str, Any]]) -> int:
    """How long the texts are that are compared, in UTF-8 as elsewhere."""
    return sum(len(row[name].encode()) for row in rows for name in ("answer", "groundTruth"))


def score_dice(rows: Sequence[dict[str, Any]]) -> array[float]:
    """Dice coefficients of all rows in one call."""
    scores = array("d", bytes(8 * len(rows)))
    dice: Any = string_similarity.dice_similarities
    dice(*pair_columns(rows), SEED, 0, len(rows), scores)
    return scores


def score_lcs(rows: Sequence[dict[str, Any]]) -> array[int]:
    """Longest common subsequences of all rows in one call."""
    counts = array("q", bytes(8 * len(rows)))
    align: Any = string_similarity.align
    align(*pair_columns(rows), False, 2.0**39, 0, len(rows), counts)
    return counts


def ranking_bytes(rows: Sequence[dict[str, Any]]) -> int:
    """How long the ids are, retrieved and judged."""
    return 8 * sum(len(row["ids"]) + len(row["judged"]) for row in rows)


def score_rankings(rows: Sequence[dict[str, Any]]) -> memoryview[float]:
    """Precision at 10, average precision and nDCG at 10 of all rows in one call."""
    columns: list[Any] = []
    for name in ("ids", "judged"):
        items = [row[name] for row in rows]
        columns += [array("q", chain.from_iterable(items))]
        if name == "judged":
            columns += [array("i", chain.from_iterable(row["grades"] for row in rows))]
        columns += [array("q", accumulate(map(len, items), initial=0))]
    kinds, cutoffs = array("i", [0, 4, 5]), array("q", [10, 2**63 - 1, 10])
    shape = (len(rows), len(kinds))
    scores = memoryview(bytearray(8 * len(rows) * len(kinds))).cast("d", shape)
    score: Any = rankings_kernel.score_rankings
    relevant = array("q", bytes(8 * len(rows)))
    score(
        *columns, kinds, cutoffs, 1, False, 3, 0.8, SEED, 0, len(rows), scores, relevant
    )  # fmt: skip
    return scores


SIZES_IN_BYTES: Final[dict[str, Callable[[Sequence[dict[str, Any]]], int]]] = {
    "dice": pair_bytes,
    "lcs": pair_bytes,
    "rankings": ranking_bytes,
}
_WORKLOADS: Final[dict[str, Callable[[Sequence[dict[str, Any]]], Any]]] = {
    "overlap": score_rows,
    "grounded": score_grounded,
    "dice": score_dice,
    "lcs": score_lcs,
    "rankings": score_rankings,
}


def make(line: bytes) -> None:
    """The call that a line describes."""
    name, rows = json.loads(line)
    _WORKLOADS[name](rows)


if __name__ == "__main__":
    make_in_children([partial(make, line) for line in sys.stdin.buffer])
