"""Runs against judgements: results, options, hand-worked values and errors."""

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
from rag_eval.retrieval import RankingMean, evaluate_arrays, evaluate_rankings
from rag_eval.retrieval.measures import RankingRules

QRELS = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"x": 1}, "q3": {"z": 1}}
RUN: dict[str, Any] = {"q2": {"x": 1.0, "y": 2.0}, "q1": ["c", "a", "u", "b"]}
EVERY = ["P@2", "recall@2", "success@2", "mrr", "map", "ndcg", "Rprec", "bpref", "err", "rbp"]


def one(ranking: Any, grades: dict[Any, int], measure: str, **options: Any) -> float:
    found = evaluate_rankings({"q": ranking}, {"q": grades}, [measure], **options)
    assert found.values.shape == (1, 1)
    return float(found.values[0, 0])


# ------------------------------------------------------------------------------------- results


def test_rows_are_in_the_order_of_the_judgements() -> None:
    found = evaluate_rankings(RUN, QRELS, ["mrr", "recall@2"])
    assert found.queries == ("q1", "q2")
    assert found.measures == ("ir.recip_rank", "ir.recall@2")
    assert found.values.tolist() == [[0.5, 0.5], [0.5, 1.0]]
    assert found.n_relevant.tolist() == [2, 1]
    assert found.to_dict()["q2"] == {"ir.recip_rank": 0.5, "ir.recall@2": 1.0}
    assert found.column("recall_2").tolist() == [0.5, 1.0]
    assert found.means == {
        "ir.recip_rank": RankingMean(0.5, 2),
        "ir.recall@2": RankingMean(0.75, 2),
    }


def test_a_column_that_was_not_computed_is_an_error() -> None:
    with pytest.raises(InputError, match=r"ir\.ndcg was not computed \(computed: ir\.map"):
        evaluate_rankings(RUN, QRELS, ["map"]).column("ndcg")


def test_judged_queries_without_results_are_left_out_or_zero() -> None:
    assert evaluate_rankings(RUN, QRELS, ["mrr"]).means["ir.recip_rank"] == (0.5, 2)
    found = evaluate_rankings(RUN, QRELS, ["mrr"], missing="zero")
    assert found.queries == ("q1", "q2", "q3")
    assert found.means["ir.recip_rank"] == (pytest.approx(1 / 3), 3)


def test_a_query_without_judgements_is_left_out_of_both() -> None:
    run, qrels = {"q": ["a"], "r": ["b"]}, {"r": {"b": 1}, "q": {}}
    for missing in ("skip", "zero"):
        assert evaluate_rankings(run, qrels, ["mrr"], missing=missing).queries == ("r",)  # type: ignore[arg-type]


def test_no_query_has_no_mean() -> None:
    found = evaluate_rankings({}, {}, EVERY)
    assert found.values.shape == (0, len(EVERY))
    for mean, n_queries in found.means.values():
        assert math.isnan(mean)
        assert n_queries == 0


def test_without_a_relevant_document_all_is_zero_as_in_trec_eval() -> None:
    for grades in ({"a": 0}, {"a": -1}, {"a": 0, "b": -5}):
        found = evaluate_rankings({"q": ["a", "b"]}, {"q": grades}, EVERY)
        assert found.values.tolist() == [[0.0] * len(EVERY)]
        assert found.n_relevant.tolist() == [0]


def test_nothing_retrieved_is_zero() -> None:
    for empty in ([], {}):
        found = evaluate_rankings({"q": empty}, {"q": {"a": 1}}, EVERY)
        assert found.values.tolist() == [[0.0] * len(EVERY)]


# -------------------------------------------------------------------------- hand-worked values


def test_expected_reciprocal_rank_by_hand() -> None:
    """Grades 3, 0, 2 of 3: 7/8, then 1/8 · 3/8 on place 3."""
    grades = {"a": 3, "b": 0, "c": 2}
    assert one(["a", "b", "c"], grades, "err", max_grade=3) == 7 / 8 + 1 / 8 * 3 / 8 / 3
    assert one(["a", "b", "c"], grades, "err@2", max_grade=3) == 7 / 8
    # A document that is not judged satisfies nobody, and takes its place.
    assert one(["u", "a"], grades, "err", max_grade=3) == 7 / 8 / 2
    # gdeval's highest grade: 2 ** 1 - 1 of 16.
    assert one(["a"], {"a": 1}, "err") == 1 / 16
    assert one(["a"], {"a": 1}, "err", max_grade=1) == 1 / 2


def test_rank_biased_precision_by_hand() -> None:
    """Hits on places 1 and 3 with p = 1/2: 1/2 · (1 + 1/4)."""
    assert one(["a", "u", "b"], {"a": 1, "b": 2}, "rbp", p=0.5) == 0.625
    assert one(["a", "u", "b"], {"a": 1, "b": 2}, "rbp@2", p=0.5) == 0.5
    assert one(["a", "u", "b"], {"a": 1, "b": 2}, "rbp", p=0.5, relevance_level=2) == 0.125
    assert one(["a", "b"], {"a": 1, "b": 1}, "rbp", p=0) == 1.0
    assert one(["u", "b"], {"a": 1, "b": 1}, "rbp", p=0.0) == 0.0


def test_gains_by_hand() -> None:
    """DCG of grades 0, 3 over that of 3, 1; log2 of 2, 3 is 1, 1.585."""
    grades = {"a": 3, "b": 1}
    log3 = math.log2(3)
    assert one(["u", "a"], grades, "ndcg") == pytest.approx((3 / log3) / (3 + 1 / log3), abs=1e-15)
    exponential = one(["u", "a"], grades, "ndcg", gain="exponential")
    assert exponential == pytest.approx((7 / log3) / (7 + 1 / log3), abs=1e-15)
    # The ideal is cut off as well.
    assert one(["u", "a"], grades, "ndcg@2") == one(["u", "a"], grades, "ndcg")
    assert one(["a"], grades, "ndcg@1") == 1.0


def test_a_repeated_id_counts_at_its_first_place_and_what_follows_moves_up() -> None:
    for measure in (*EVERY, "P@3", "ndcg@2"):
        grades = {"a": 2, "b": 1, "n": 0}
        twice = one(["a", "a", "u", "u", "b", "n", "b"], grades, measure)
        assert twice == one(["a", "u", "b", "n"], grades, measure), measure
    found = evaluate_arrays([7, 7, 8], [0, 3], [8, 8, 7], [2, 0, 0], [0, 3], ["mrr", "bpref"])
    assert found.values.tolist() == [[0.5, 0.0]]
    assert found.n_relevant.tolist() == [1]


def test_a_high_cutoff_is_no_cutoff_but_to_precision() -> None:
    ranking, grades = ["u", "a", "b"], {"a": 2, "b": 1, "c": 1}
    for kind in ("mrr", "map", "ndcg", "err", "rbp"):
        assert one(ranking, grades, f"{kind}@999999999") == one(ranking, grades, kind)
    assert one(ranking, grades, "P@1000") == 2 / 1_000


def test_whole_numbers_are_ids_too() -> None:
    assert one([3, 1], {1: 1, 2: 1}, "map") == 0.25
    # As the digits of a file would be ordered: "9" comes before "10".
    assert one({9: 1.0, 10: 1.0}, {9: 1}, "mrr") == 1.0
    assert one({9: 1.0, 8: 1.0}, {8: 1}, "mrr") == 0.5


def test_numpy_numbers_are_scores_grades_and_ids() -> None:
    scores = {np.int64(1): np.float32(0.5), np.int64(2): np.float64(0.25)}
    assert one(scores, {2: np.int64(1)}, "mrr") == 0.5  # type: ignore[dict-item]
    assert one({"a": True, "b": 0.5}, {"b": 2.0}, "mrr") == 0.5  # type: ignore[dict-item]


# ------------------------------------------------------------------------------------------ laws

rankings = st.lists(st.integers(0, 12), max_size=15, unique=True)
judgements = st.dictionaries(st.integers(0, 15), st.integers(-1, 4), min_size=1, max_size=10)
ALL = [*EVERY, "map@3", "ndcg@3", "err@3", "rbp@3", "mrr@3"]


def row(ranking: list[Any], grades: dict[Any, int]) -> list[float]:
    return evaluate_rankings({"q": ranking}, {"q": grades}, ALL).values[0].tolist()


@given(rankings, judgements)
def test_measures_lie_between_0_and_1(ranking: list[int], grades: dict[int, int]) -> None:
    assert all(0.0 <= score <= 1.0 + 1e-15 for score in row(ranking, grades))


@given(rankings, judgements, st.permutations(range(16)))
def test_names_of_documents_do_not_matter(
    ranking: list[int], grades: dict[int, int], names: list[int]
) -> None:
    renamed = [f"d{names[document]}" for document in ranking]
    again = row(renamed, {f"d{names[document]}": grade for document, grade in grades.items()})
    assert again == row(ranking, grades)


@given(rankings, judgements, st.integers(1, 20))
def test_documents_that_nobody_judged_may_follow(
    ranking: list[int], grades: dict[int, int], n_more: int
) -> None:
    assert row(ranking + list(range(100, 100 + n_more)), grades) == row(ranking, grades)


@given(judgements)
def test_the_best_order_is_perfect(grades: dict[int, int]) -> None:
    best = sorted(grades, key=lambda document: grades[document], reverse=True)
    if any(grade > 0 for grade in grades.values()):
        found = dict(zip(ALL, row(best, grades), strict=True))
        assert [found[name] for name in ("mrr", "map", "ndcg", "Rprec", "bpref")] == [1.0] * 5


@given(st.dictionaries(st.text(max_size=3), st.floats(-9, 9), max_size=12), st.randoms())
def test_the_order_of_a_mapping_does_not_matter(scores: dict[str, float], rng: Any) -> None:
    names = list(scores)
    rng.shuffle(names)
    grades = {name: place % 3 for place, name in enumerate(scores)} or {"a": 1}
    shuffled = {name: scores[name] for name in names}
    again = evaluate_rankings({"q": shuffled}, {"q": grades}, ALL)
    assert (
        again.values.tolist()
        == evaluate_rankings({"q": scores}, {"q": grades}, ALL).values.tolist()
    )


# ------------------------------------------------------------------------------------ large, odd


def test_a_million_documents() -> None:
    """Places and counts past 16 bits; `make gate` counts what sorting and joining cost."""
    n = 1_000_000
    ids = np.arange(n) << 32
    names = [name for name in ALL if "err" not in name]
    found = evaluate_arrays(ids, [0, n], ids[::-1], np.arange(n) % 100_000, [0, n], names)
    assert found.n_relevant.tolist() == [n - 10]
    assert found.column("recall@2")[0] == 2 / (n - 10)


def test_lone_surrogates_are_ids() -> None:
    low, high = chr(0xD800), chr(0xDFFF)
    assert one({low: 1.0, high: 1.0}, {low: 1}, "mrr") == 0.5


def test_scores_beyond_32_bits_are_infinite_as_in_trec_eval() -> None:
    assert one({"a": 1e300, "b": 1e301, "c": -math.inf}, {"b": 1}, "mrr") == 1.0
    assert one({"a": 1e301, "b": 1e300}, {"b": 1}, "mrr") == 1.0
    assert one({"a": 1e301, "b": 1e300}, {"b": 1}, "mrr", score_type="float64") == 0.5


def test_the_means_are_correctly_rounded() -> None:
    rng = random.Random(5)
    run = {f"q{i}": [f"d{j}" for j in rng.sample(range(30), 20)] for i in range(500)}
    qrels = {query: {f"d{rng.randrange(30)}": 1} for query in run}
    found = evaluate_rankings(run, qrels, ["mrr"])
    reverse = evaluate_rankings(run, dict(reversed(qrels.items())), ["mrr"])
    assert found.means == reverse.means


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ([], {}, "run must be a mapping, got list"),
        ({}, [], "qrels must be a mapping, got list"),
        ({"q": "ab"}, {"q": {"a": 1}}, "must be a mapping of scores or a list of ids, got str"),
        ({"q": ["a"]}, {"q": ["a"]}, "qrels of a query must be a mapping, got list"),
        ({"q": ["a", 1]}, {"q": {"a": 1}}, "ids of the run must be all strings or all whole"),
        ({"q": [1, True]}, {"q": {1: 1}}, "whole numbers, got bool and int"),
        ({"q": [1.5]}, {"q": {1: 1}}, "whole numbers, got float"),
        ({"q": [["a"]]}, {"q": {"a": 1}}, "whole numbers, got list"),
        ({"q": [None]}, {"q": {"a": 1}}, "whole numbers, got NoneType"),
        ({"q": ["a"]}, {"q": {"a": 1, 2: 1}}, "ids of the qrels must be all strings"),
        ({"q": [1]}, {"q": {"1": 1}}, "ids of the run are whole numbers and those of the qrels"),
        ({"q": {"a": "1"}}, {"q": {"a": 1}}, "scores of a run must be numbers, got str"),
        ({"q": {"a": None}}, {"q": {"a": 1}}, "scores of a run must be numbers, got NoneType"),
        ({"q": {"a": math.nan}}, {"q": {"a": 1}}, "the score of document 'a' is NaN"),
        ({"q": {"a": 10**400}}, {"q": {"a": 1}}, "scores of a run must be below 1.8e308"),
        ({"q": ["a"]}, {"q": {"a": 0.5}}, "grades of the qrels must be whole numbers, got 0.5"),
        ({"q": ["a"]}, {"q": {"a": True}}, "must be whole numbers, got True"),
        ({"q": ["a"]}, {"q": {"a": math.inf}}, "must be whole numbers, got inf"),
        ({"q": ["a"]}, {"q": {"a": None}}, "must be whole numbers, got None"),
        ({"q": ["a"]}, {"q": {"a": 2**31}}, "grades of the qrels must fit into 32 bits"),
        ({"q": ["a"]}, {"q": {"a": 10**5_000}}, "grades of the qrels must fit into 32 bits"),
        ({1: ["a"]}, {"1": {"a": 1}}, "query ids of the run are int and those of the qrels str"),
    ],
)
def test_errors_say_what_was_found(run: Any, qrels: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_rankings(run, qrels, ["map"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relevance_level": 0}, "relevance_level must be a whole number of at least 1, got 0"),
        ({"relevance_level": 2**31}, "relevance_level must be below 2**31"),
        ({"gain": "square"}, "gain must be 'linear' or 'exponential', got 'square'"),
        ({"max_grade": 0}, "max_grade must be a whole number of at least 1, got 0"),
        ({"max_grade": 501}, "max_grade must be at most 500, got 501"),
        ({"p": 1}, "p must be at least 0 and below 1, got 1"),
        ({"p": -0.1}, "p must be at least 0 and below 1, got -0.1"),
        ({"p": math.nan}, "p must be finite"),
        ({"p": "a"}, "p must be a number"),
        ({"missing": "none"}, "missing must be 'skip' or 'zero', got 'none'"),
        ({"score_type": "float16"}, "score_type must be 'float32' or 'float64'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_rankings(RUN, QRELS, ["map"], **options)


def test_a_grade_above_what_a_measure_takes_is_an_error() -> None:
    with pytest.raises(InputError, match="a grade is 5, above 4, max_grade of ERR"):
        one(["a"], {"a": 5}, "err")
    with pytest.raises(InputError, match="a grade is 501, above 500, the highest grade of an exp"):
        one(["a"], {"a": 501}, "ndcg", gain="exponential")
    assert one(["a"], {"a": 501}, "ndcg") == 1.0
    assert one(["a", "b"], {"a": 500, "b": 500}, "ndcg", gain="exponential") == 1.0
    assert one(["a"], {"a": 500}, "err", max_grade=500) == 1.0


SOUND: dict[str, Any] = {
    "ids": [1, 2],
    "id_offsets": [0, 2],
    "judged": [1],
    "grades": [1],
    "judged_offsets": [0, 1],
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": [1.5, 2.0]}, "ids must be a one-dimensional array of integers, got float64"),
        ({"ids": [[1, 2]]}, "ids must be a one-dimensional array of integers, got int64 in 2"),
        ({"ids": ["a", "b"]}, "ids must be a one-dimensional array of integers"),
        ({"ids": [True, False]}, "ids must be a one-dimensional array of integers, got bool"),
        ({"id_offsets": []}, "id_offsets must begin with 0 and end with 2, the number of ids"),
        ({"id_offsets": [1, 2]}, "id_offsets must begin with 0"),
        ({"id_offsets": [0, 3]}, "id_offsets must begin with 0 and end with 2"),
        ({"id_offsets": [0, 5, 2]}, "id_offsets must not decrease"),
        ({"id_offsets": [0, 1, 2]}, "must have the same number of queries, got 2 and 1"),
        ({"judged_offsets": [0, -1, 1], "id_offsets": [0, 1, 2]}, "must not decrease"),
        ({"grades": [1, 2]}, "judged and grades must have the same length, got 1 and 2"),
        ({"grades": [2**40]}, "grades must fit into 32 bits"),
    ],
)
def test_arrays_are_checked_before_any_kernel_sees_them(
    changed: dict[str, Any], message: str
) -> None:
    assert evaluate_arrays(**SOUND, measures=["mrr"]).values.tolist() == [[1.0]]
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_arrays(**{**SOUND, **changed}, measures=["mrr"])


def test_arrays_of_any_integers_and_steps_are_taken() -> None:
    ids = np.array([9, 0, 1, 0, 2, 0], np.uint16)[::2]
    found = evaluate_arrays(
        ids, np.array([0, 3], np.int32), np.array([1], np.int8), [1], [0, 1], "mrr"
    )
    assert found.values.tolist() == [[0.5]]
    assert list(found.queries) == [0]
    assert evaluate_arrays([], [0], [], [], [0], "mrr").values.shape == (0, 1)


def test_rules_have_the_defaults_that_are_documented() -> None:
    assert RankingRules() == RankingRules(1, "linear", 4, 0.8)
