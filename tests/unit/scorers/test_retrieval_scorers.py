"""Retrieval measures as scorers of samples."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric, Scored
from rag_eval.metrics.measure_names import canonical_name
from rag_eval.retrieval import answer_context_overlap, evaluate_rankings, precision_at_k
from rag_eval.samples import NullReason
from rag_eval.scorers import ir
from rag_eval.scorers.hazel.retrieval import METRICS
from tests.tables import every_row

LISTED = [metric.id for metric in ir.METRICS]
HAZEL = {spec.id: spec for spec in METRICS}
RETRIEVAL = [*LISTED, *(name for name in HAZEL if "overlap" not in name)]
FOUND = {"retrieved_ids": ["u", "a", "b"], "relevant_ids": ["a", "b", "c"]}


def spec_of(name: str) -> Metric:
    spec = HAZEL.get(name) or ir.measure_of(name)
    assert spec is not None
    return spec


def scored(name: str, fields: dict[str, Any], **options: Any) -> Scored:
    return spec_of(name).create(**options).score(fields)


def test_every_listed_measure_has_a_contract() -> None:
    assert len(set(LISTED)) == len(LISTED)
    for name in LISTED:
        spec = spec_of(name)
        assert spec.id == name == canonical_name(name)
        assert spec.fields == ("retrieved_ids", "relevant_ids")
        assert "{" not in spec.summary
        assert spec.create(**spec.options).column is not None


@every_row("name", ["ndcg@10", "ir.P", "ir.mrr", "ir.bpref@5", "hazel.mrr", ""])
def test_other_names_have_none(name: str) -> None:
    assert ir.measure_of(name) is None


@every_row("name", RETRIEVAL)
def test_the_default_options_are_those_of_the_contract(name: str) -> None:
    spec = spec_of(name)
    assert spec.create().score(FOUND) == spec.create(**spec.options).score(FOUND)


@every_row(
    ("name", "score"),
    [
        ("ir.P@5", 2 / 5),
        ("ir.recall@2", 1 / 3),
        ("ir.recip_rank", 1 / 2),
        ("ir.map", (1 / 2 + 2 / 3) / 3),
        ("ir.err@10", 1 / 16 / 2 + 15 / 16 / 16 / 3),
        ("hazel.precision_at_k", 2 / 3),
        ("hazel.recall_at_k", 2 / 3),
        ("hazel.mrr", 1 / 2),
    ],
)
def test_scores_of_a_list_of_relevant_ids(name: str, score: float) -> None:
    found = scored(name, FOUND)
    assert found.score == pytest.approx(score, abs=1e-15)
    assert found.null_reason is NullReason.MEASURED


def test_a_finding_tells_what_was_found_where() -> None:
    graded = {"retrieved_ids": ["u", "a", "a", "b"], "relevant_ids": {"a": 3, "b": 1, "n": 0}}
    found = scored("ir.ndcg@10", graded)
    assert found.explanation == "2 of 2 relevant documents in the first 10, the first on place 2."
    assert found.details == [
        {"place": 2, "id": "a", "grade": 3},
        {"place": 3, "id": "b", "grade": 1},
    ]
    assert scored("ir.map", FOUND).explanation.startswith("2 of 3 relevant documents in the 3 pl")
    assert scored("ir.P@1", FOUND).explanation == "0 of 3 relevant documents in the first 1."
    assert scored("hazel.mrr", graded).explanation == (
        "2 of 2 relevant documents in the 4 retrieved."
    )


@every_row("name", RETRIEVAL)
@every_row("relevant", [[], {}, {"a": 0}, {"a": -1, "b": 0}, ()])
def test_without_a_relevant_document_there_is_no_score(name: str, relevant: Any) -> None:
    found = scored(name, {"retrieved_ids": ["a"], "relevant_ids": relevant})
    assert found == Scored.nothing("relevant_ids contains no relevant document")


@every_row("name", RETRIEVAL)
def test_nothing_retrieved_is_zero(name: str) -> None:
    assert scored(name, {"retrieved_ids": [], "relevant_ids": ["a"]}).score == 0.0


@every_row("name", RETRIEVAL)
@every_row(
    ("fields", "message"),
    [
        ({"retrieved_ids": "ab"}, "retrieved_ids must be a list, got str"),
        ({"retrieved_ids": {"a": 1}}, "retrieved_ids must be a list, got dict"),
        ({"relevant_ids": "ab"}, "relevant_ids must be a list of ids or a mapping of id to grade"),
        ({"retrieved_ids": ["a", 1]}, "ids of retrieved_ids must be all strings or all whole"),
        ({"relevant_ids": ["a", None]}, "ids of relevant_ids must be all strings or all whole"),
        ({"retrieved_ids": [1]}, "ids of retrieved_ids are whole numbers and those of relevant_id"),
        ({"retrieved_ids": [["a"]]}, "got list"),
        ({"retrieved_ids": [1, True], "relevant_ids": [1]}, "got bool and int"),
        ({"relevant_ids": {"a": 1.5}}, "grades of relevant_ids must be whole numbers, got 1.5"),
        ({"relevant_ids": {"a": "1"}}, "grades of relevant_ids must be whole numbers, got '1'"),
    ],
)
def test_errors_say_what_was_found(name: str, fields: dict[str, Any], message: str) -> None:
    scorer = spec_of(name).create()
    with pytest.raises(InputError, match=re.escape(message)):
        scorer.score({**FOUND, **fields})
    if scorer.column is not None:
        with pytest.raises(InputError, match=re.escape(message)):
            scorer.column([FOUND, {**FOUND, **fields}])


@every_row(
    ("name", "options", "message"),
    [
        ("hazel.precision_at_k", {"k": 0}, "k must be a whole number of at least 1, got 0"),
        ("hazel.recall_at_k", {"k": True}, "k must be a whole number of at least 1, got True"),
        ("hazel.ndcg_at_k", {"k": -1}, "k must be a whole number of at least 1, got -1"),
        ("hazel.precision_at_k", {"denominator": "n"}, "denominator must be 'returned' or 'k'"),
        ("ir.ndcg", {"gain": "square"}, "gain must be"),
        ("ir.err@10", {"max_grade": 0}, "max_grade must be"),
        ("ir.rbp", {"p": 1.0}, "p must be at least 0 and below 1"),
        ("ir.P@5", {"relevance_level": 0}, "relevance_level must be"),
    ],
)
def test_options_are_checked_before_any_sample(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        spec_of(name).create(**options)


def test_options_change_scores() -> None:
    graded = {"retrieved_ids": ["b", "a"], "relevant_ids": {"a": 3, "b": 1}}
    linear = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert scored("ir.ndcg", graded).score == pytest.approx(linear, abs=1e-15)
    exponential = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    found = scored("ir.ndcg", graded, gain="exponential").score
    assert found == pytest.approx(exponential, abs=1e-15)
    assert scored("ir.recip_rank", graded, relevance_level=2).score == 0.5
    assert scored("ir.err@10", graded, max_grade=3).score == 1 / 8 + 7 / 8 * 7 / 8 / 2
    assert scored("ir.rbp", graded, p=0.5).score == 0.75
    short = {"retrieved_ids": ["a"], "relevant_ids": ["a"]}
    assert scored("hazel.precision_at_k", short).score == 1.0
    assert scored("hazel.precision_at_k", short, denominator="k").score == 0.2
    assert precision_at_k(["a"], ["a"], 5, denominator="k") == 0.2
    assert scored("hazel.ndcg_at_k", FOUND, k=1).score == 0.0


ids = st.lists(st.sampled_from("abcdefgh"), max_size=10)
samples = st.fixed_dictionaries(
    {
        "retrieved_ids": ids,
        "relevant_ids": ids | st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4)),
    }
)


@given(st.lists(samples, max_size=6), st.sampled_from(LISTED))
def test_a_column_is_its_samples_one_by_one(rows: list[dict[str, Any]], name: str) -> None:
    scorer = spec_of(name).create()
    assert scorer.column is not None
    scores, reasons = scorer.column(rows)
    assert (scores.dtype, reasons.dtype) == (np.float64, np.uint8)
    one_by_one = [scorer.score(row) for row in rows]
    wanted = [math.nan if found.score is None else found.score for found in one_by_one]
    assert scores.tobytes() == np.array(wanted, np.float64).tobytes()
    assert reasons.tolist() == [found.null_reason for found in one_by_one]


def test_strings_and_numbers_may_be_ids_of_different_samples() -> None:
    scorer = spec_of("ir.map").create()
    assert scorer.column is not None
    rows = [
        {"retrieved_ids": [2, 1], "relevant_ids": [1]},
        {"retrieved_ids": ["1"], "relevant_ids": {"1": 2}},
    ]
    assert scorer.column(rows)[0].tolist() == [0.5, 1.0]


def test_samples_score_like_a_run() -> None:
    rng = random.Random(11)
    names = [f"d{i}" for i in range(40)]
    run = {f"q{i}": rng.sample(names, 20) for i in range(30)}
    qrels = {q: {d: rng.randint(0, 3) for d in rng.sample(names, 10)} for q in run}
    rows = [{"retrieved_ids": run[q], "relevant_ids": qrels[q]} for q in run]
    whole = evaluate_rankings(run, qrels, LISTED)
    assert (whole.n_relevant > 0).all()
    for name in LISTED:
        scorer = spec_of(name).create()
        assert scorer.column is not None
        assert scorer.column(rows)[0].tobytes() == whole.column(name).tobytes()


# ------------------------------------------------------------------------------- word overlap


def overlap(answer: str, *contexts: str) -> Scored:
    return scored("hazel.answer_context_overlap", {"answer": answer, "contexts": list(contexts)})


def test_words_of_any_context_count() -> None:
    found = overlap("The tower, THE river; moon", "the tower", "A river.")
    assert found.score == 0.75
    assert found.explanation == "3 of 4 words of the answer are in the contexts."


def test_words_do_not_grow_together_over_contexts() -> None:
    assert overlap("waterfall", "water", "fall").score == 0.0


def test_distinct_words_count() -> None:
    assert answer_context_overlap("tower tower tower moon", "tower") == 0.5
    assert overlap("tower tower tower moon", "tower").score == 0.5


def test_an_answer_without_words_has_no_score() -> None:
    assert overlap("it is ok", "it is ok").score is None
    assert answer_context_overlap("it is ok", "it is ok") == 0.0
    assert overlap("something").score == 0.0


def test_length_is_counted_in_units_of_utf_16() -> None:
    assert answer_context_overlap("\U00020000\U00020001 ab", "\U00020000\U00020001") == 1.0
    assert answer_context_overlap("\U00020000", "\U00020000") == 0.0
    # A combining mark parts words, as there.
    assert answer_context_overlap("cafe\u0301s", "cafe") == 1.0


def test_a_text_of_ten_megabytes_is_scored() -> None:
    text = "word \ud800 . ̈" * 1_000_000
    assert answer_context_overlap(text, text) == 1.0
