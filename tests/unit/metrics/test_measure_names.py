"""Names of retrieval measures: one spelling of ours, and those of others."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.measure_names import (
    KINDS,
    WITH_CUTOFF,
    WITHOUT_CUTOFF,
    canonical_name,
    read_name,
)
from rag_eval.metrics.registry import known_metric_ids
from rag_eval.retrieval import Measure, parse_measure
from rag_eval.retrieval.measures import parse_measures
from tests.tables import every_row

ALIASES = {
    "ir.P@5": ("P@5", "p@5", "P_5", "P.5", "precision@5", "precision_at_5", "Precision@5"),
    "ir.recall@10": ("recall@10", "recall_10", "R@10", "recall_at_10", "Recall@10"),
    "ir.success@3": ("success_3", "Success@3", "hit_rate@3", "hitRate@3", "hit@3"),
    "ir.recip_rank": ("recip_rank", "recipRank", "mrr", "MRR", "RR", "reciprocal_rank"),
    "ir.recip_rank@10": ("mrr@10", "MRR@10", "RR@10", "mean_reciprocal_rank@10"),
    "ir.map": ("map", "MAP", "AP", "average_precision", "averagePrecision"),
    "ir.map@20": ("map_cut_20", "map_cut.20", "map@20", "AP@20"),
    "ir.ndcg": ("ndcg", "nDCG", "NDCG"),
    "ir.ndcg@10": ("ndcg@10", "nDCG@10", "ndcg_cut_10", "ndcg_cut.10", "ndcg_at_10"),
    "ir.Rprec": ("Rprec", "rprec", "r_precision", "R_prec"),
    "ir.bpref": ("bpref", "Bpref"),
    "ir.err@20": ("err@20", "ERR@20"),
    "ir.rbp": ("rbp", "RBP", "rank_biased_precision"),
}


@every_row("canonical", ALIASES)
def test_every_spelling_has_one_canonical_name(canonical: str) -> None:
    for name in (canonical, *ALIASES[canonical]):
        assert canonical_name(name) == canonical, name
        assert canonical_name(f"ir.{name}" if name != canonical else name) == canonical


def test_no_metric_of_the_library_is_an_alias() -> None:
    names = [name for name in known_metric_ids() if not name.startswith("ir.")]
    assert len(names) > 10
    assert [name for name in names if canonical_name(name)] == []


@every_row(
    "name",
    [
        *("", "P", "recall", "precision", "success", "bpref@5", "Rprec@5", "ndcg@0", "ndcg@-1"),
        *("ndcg@010", "ndcg@1.5", "ndcg@10 ", "ndcg@10\n", "ndcg@٣", "ndcg@1234567890", "@5"),
        *("ir.", "ir.ir.map", "faithfulness", "context_precision@5", "mastra.ndcg@5", "ndcg@5@5"),
    ],
)
def test_other_words_are_no_names(name: str) -> None:
    assert canonical_name(name) is None


def test_long_texts_are_no_names() -> None:
    for text in ("x" * 1_000_000, "_" * 1_000_000, "ndcg@" + "1" * 1_000_000):
        assert canonical_name(text) is None


@every_row("name", [None, 5, b"map", ["map"], float("nan")])
def test_what_is_no_text_is_no_name(name: object) -> None:
    assert canonical_name(name) is None


@given(st.sampled_from(KINDS), st.none() | st.integers(1, 999_999_999))
def test_canonical_names_are_read_back(kind: str, cutoff: int | None) -> None:
    measure = Measure("ir." + kind + ("" if cutoff is None else f"@{cutoff}"), kind, cutoff)
    allowed = kind not in (WITH_CUTOFF if cutoff is None else WITHOUT_CUTOFF)
    assert read_name(measure.name) == (measure if allowed else None)
    assert canonical_name(measure.name) == (measure.name if allowed else None)


def test_a_measure_is_its_name_read() -> None:
    assert parse_measure("ndcg_cut_10") == Measure("ir.ndcg@10", "ndcg", 10)
    assert parse_measure("MRR") == Measure("ir.recip_rank", "recip_rank", None)


def test_a_measure_that_is_named_twice_is_one() -> None:
    found = parse_measures(["map", "ndcg@5", "AP", "ndcg_cut_5"])
    assert [measure.name for measure in found] == ["ir.map", "ir.ndcg@5"]
    assert parse_measures("map") == (parse_measure("map"),)


@every_row(
    ("name", "message"),
    [
        ("recall", "measure 'recall' needs a cutoff, as in 'recall@10'"),
        ("bpref@5", "measure 'bpref@5' takes no cutoff; use 'bpref'"),
        ("ndgc", "unknown retrieval measure 'ndgc'; did you mean 'ndcg'?"),
        (7, "unknown retrieval measure 7 (known: P@10, recall@10"),
    ],
)
def test_errors_say_what_was_wanted(name: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_measure(name)


def test_no_measure_is_an_error() -> None:
    with pytest.raises(InputError, match="give at least one measure"):
        parse_measures([])


def test_names_are_read_without_numpy() -> None:
    program = (
        "import sys, rag_eval.metrics.measure_names\n"
        "import rag_eval.scorers.ir, rag_eval.scorers.hazel.retrieval\n"
        "assert rag_eval.scorers.ir.measure_of('ir.ndcg@10')\n"
        "assert rag_eval.scorers.hazel.retrieval.METRICS\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
