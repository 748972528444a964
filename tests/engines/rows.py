"""Rows for every engine, and what a single process makes of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from rag_eval import evaluate_batch
from rag_eval.options.plan import make_plan
from rag_eval.results.batch import BatchSummary
from rag_eval.results.summary import summary_of
from rag_eval.results.totals import ScoreTotals
from rag_eval.samples import NullReason, Profile

Row = dict[str, Any]

N_ROWS: Final = 2000
PROFILES: Final[tuple[Profile, ...]] = ("overlap", "grounded")
COLUMNS: Final = ("id", "question", "answer", "contexts", "ground_truth", "topic")
_PROSE: Final = (
    "the trial of 1,200 people in Lyon was led by Ellen Marsh and not Dr. Straße don’t naïve 東京 "
    "столица Парижа हिन्दी 😀 e\u0301t\u00e9 𐐀𐐨 3.14 50% C++ \u200d… İstanbul ΟΔΟΣ"
)


def _text(rng: random.Random, n_words: int) -> str:
    words = rng.choices(_PROSE.split(), k=n_words)
    return " ".join(word + rng.choice(("", "", "", ".", "?", ",")) for word in words)


def _row(rng: random.Random, number: int, profile: Profile) -> Row:
    row: Row = {
        "id": f"r{number}",
        "question": _text(rng, rng.randrange(1, 9)),
        "answer": _text(rng, rng.choice((0, 1, 8, 30))),
        "contexts": [_text(rng, rng.choice((0, 5, 40))) for _ in range(rng.randrange(4))],
        "ground_truth": rng.choice((None, "", _text(rng, 9))),
        "topic": rng.choice((None, "médecine", "x")),
    }
    if profile == "grounded":
        # Only this profile takes rows that lack what they are scored by.
        for name in ("question", "answer", "contexts"):
            if rng.random() < 0.1:
                row[name] = None
    return row


def rows_of(profile: Profile, n_rows: int = N_ROWS) -> list[Row]:
    """The same rows each time."""
    rng = random.Random(f"rows of {profile}")
    return [_row(rng, number, profile) for number in range(n_rows)]


def with_bad_row(rows: list[Row]) -> list[Row]:
    """The same with one in the middle that the overlap profile does not take."""
    middle = len(rows) // 2
    bad = {**rows[middle], "id": "the bad one", "answer": None}
    return [*rows[:middle], bad, *rows[middle + 1 :]]


BAD_ROW: Final = r'row \d+ \("the bad one"\) of its batch: answer is missing'


def expected(rows: list[Row], prefix: str = "", **options: Any) -> dict[str, Row]:
    """By id the columns of scores, of evaluate_batch in one process."""
    result = evaluate_batch(rows, threads=1, **options)
    found = {}
    for number, row in enumerate(rows):
        scores = result.scores[number].tolist()
        reasons = [NullReason(reason) for reason in result.null_reasons[number].tolist()]
        values = dict(zip(result.metrics, map(_bits, scores), strict=True))
        for metric, reason in zip(result.metrics, reasons, strict=True):
            is_null = reason != NullReason.MEASURED
            values[f"{metric}_null_reason"] = reason.name.lower() if is_null else None
        values["composite_score"] = _bits(result.composite_scores[number].item())
        values["passed"] = bool(result.sample_passed[number])
        found[row["id"]] = {prefix + name: value for name, value in values.items()}
    return found


def by_id(scored: Iterable[Mapping[str, Any]], rows: list[Row], prefix: str = "") -> dict[str, Row]:
    """By id the columns of scores of rows that an engine gave back, floats by their bits."""
    inputs = {row["id"]: row for row in rows}
    found: dict[str, Row] = {}
    for row in scored:
        own = inputs[row["id"]]
        assert row["id"] not in found
        for name in COLUMNS:
            if name in row:
                assert _plain(row[name]) == own[name], name
        values = {name: value for name, value in row.items() if name not in COLUMNS}
        for name, value in values.items():
            values[name] = value if name == f"{prefix}passed" else _bits(value)
        found[row["id"]] = values
    return found


def _bits(value: Any) -> Any:
    """A score by its bits; None for what stands for a null."""
    if isinstance(value, float):
        return None if value != value else value.hex()
    return value


def _plain(value: Any) -> Any:
    """A cell as it went in: some engines give arrays for lists, and NaN for None."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if isinstance(value, float) and value != value else value


def single_summary(rows: list[Row], metrics: Any = None, **options: Any) -> BatchSummary:
    """Statistics of all rows by a process of its own, with medians from the histogram."""
    plan = make_plan(metrics, options)
    totals = ScoreTotals(plan)
    found = evaluate_batch(rows, metrics, threads=1, **options)
    totals.add(found.scores, found.null_reasons)
    summary = summary_of(plan, totals, None, evaluated_at="", duration_ms=0, notes=[], judging=None)
    return replace(summary, notes=found.notes)


def facts(summary: BatchSummary) -> str:
    """All of a summary but the times, as text: NaN is equal to itself there."""
    values = {**summary.summary_dict(), "evaluatedAt": "", "totalDurationMs": 0}
    values |= {"n": summary.n_rows, "passed": summary.n_passed, "metrics": summary.metrics}
    return json.dumps([values, repr(summary.aggregates), repr(summary.composite_aggregate)])
