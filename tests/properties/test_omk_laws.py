"""Laws of omk's assertions, layers and text metrics, whatever the texts are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.scorers.omk.assertion_rules import word_count, word_counts
from rag_eval.scorers.omk.assertions import check_assertion, check_assertions
from rag_eval.scorers.omk.layers import layered_scores, ratio_to_score
from rag_eval.scorers.omk.specs import CODE_METRICS as METRICS
from rag_eval.scorers.omk.text_metrics import bleu, rouge_n, tokens_of
from tests.strategies import texts

COLUMNS: list[tuple[str, dict[str, Any]]] = [
    ("contains", {"value": "a"}),
    ("not_contains", {"value": "É"}),
    ("contains_all", {"values": ["a", "b"]}),
    ("contains_any", {"values": ["a", "😀"]}),
    ("equals", {"value": "a"}),
    ("starts_with", {"value": "a"}),
    ("ends_with", {"value": "."}),
    ("min_length", {"value": 9}),
    ("max_length", {"value": 9}),
    ("word_count_min", {"value": 3}),
    ("word_count_max", {"value": 3}),
    ("json_valid", {}),
    ("regex", {"pattern": r"\w\s"}),
]
BY_ID = {spec.id: spec for spec in METRICS}

weights = st.floats(1e-3, 1e3)
short = st.text("ab 今.", max_size=12)
checks = st.builds(
    lambda value, weight, negated: {
        "type": "contains",
        "value": value,
        "weight": weight,
        "not": negated,
    },
    st.sampled_from("abz"),
    weights,
    st.booleans(),
)


@given(st.lists(texts(), max_size=6), st.sampled_from(COLUMNS), st.booleans())
def test_a_column_is_its_rows(answers: list[str], column: Any, negated: bool) -> None:
    name, options = column
    scorer = BY_ID[f"omk.{name}"].create(**options, **{"not": negated})
    rows = [{"answer": answer} for answer in answers]
    assert scorer.column is not None
    assert scorer.column(rows)[0].tolist() == [scorer.score(row).score for row in rows]


@given(st.lists(texts(), max_size=6))
def test_words_are_counted_alike_one_by_one_and_all_at_once(many: list[str]) -> None:
    assert word_counts(many) == [word_count(text) for text in many]


@given(texts(), st.sampled_from([row for row in COLUMNS if row[0] != "regex"]))
def test_not_turns_an_assertion_about_a_known_output_round(text: str, column: Any) -> None:
    name, options = column
    straight = check_assertion({"type": name, **options}, text).passed
    assert check_assertion({"type": name, **options, "not": True}, text).passed is not straight


@given(st.lists(checks, min_size=1, max_size=6), short)
def test_sets_are_and_and_or(children: list[dict[str, Any]], text: str) -> None:
    met = [check_assertion(child, text).passed for child in children]
    for mode, wanted in (("all", all(met)), ("any", any(met))):
        whole = {"type": "assert-set", "mode": mode, "children": children}
        assert check_assertion(whole, text).passed is wanted


@given(st.lists(checks, min_size=1, max_size=6), short)
def test_a_score_is_a_share_of_weight(assertions: list[dict[str, Any]], text: str) -> None:
    found = check_assertions(assertions, text)
    met = sum(one["weight"] for one in assertions if check_assertion(one, text).passed)
    total = sum(one["weight"] for one in assertions)
    assert found.ratio == pytest.approx(met / total)
    assert found.ratio is not None
    assert layered_scores(found.details)["composite"] == found.score == ratio_to_score(found.ratio)


@given(short, short, st.integers(1, 5))
def test_rouge_is_the_definition(candidate: str, reference: str, n: int) -> None:
    found, wanted = (
        [tuple(row[at : at + n]) for at in range(len(row) - n + 1)]
        for row in (tokens_of(candidate), tokens_of(reference))
    )
    shared = sum(min(found.count(gram), wanted.count(gram)) for gram in set(wanted))
    assert rouge_n(candidate, reference, n) == (shared / len(wanted) if wanted else 0)


@given(st.text("ab 今.", max_size=40), st.text("ab 今.", max_size=40))
def test_bleu_is_a_share_and_1_of_a_text_and_itself(candidate: str, reference: str) -> None:
    assert 0 <= bleu(candidate, reference) <= 1
    assert bleu(candidate, candidate) == (1.0 if len(tokens_of(candidate)) >= 4 else 0.0)


@given(st.floats(0, 1))
def test_ratings_are_within_half_a_step_of_the_ratio(ratio: float) -> None:
    assert abs(ratio_to_score(ratio) - (1 + 4 * ratio)) <= 0.005 + 1e-12
