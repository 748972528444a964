"""Near duplicates: none is missed, and it does not take the square of the cases."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval import get_ngrams, tokenize
from rag_eval.errors import InputError
from rag_eval.golden import (
    GoldenCase,
    GoldenDataset,
    NearDuplicate,
    near_duplicates,
    without_near_duplicates,
)
from tests.counted_work import operations
from tests.tables import every_row

QUESTIONS = (
    "How do I reset my password?",
    "What are the opening hours on Sunday?",
    "how do I RESET my password",
    "How can I reset my password?",
    "",
    "?!",
)


def dataset(*inputs: str) -> GoldenDataset:
    cases = tuple(GoldenCase(id=str(i), input=text) for i, text in enumerate(inputs))
    return GoldenDataset(name="d", version="1", cases=cases)


def grams(text: str, n: int) -> set[str]:
    tokens = tokenize(text)
    return set(get_ngrams(tokens, min(n, len(tokens)))) if tokens else set()


def by_definition(data: GoldenDataset, threshold: float, n: int) -> list[tuple[str, str, float]]:
    """Every case against every earlier one that is no duplicate, one pair at a time."""
    kept: list[GoldenCase] = []
    found = []
    for case in data:
        near = []
        for other in kept:
            left, right = grams(case.input, n), grams(other.input, n)
            similarity = len(left & right) / len(left | right) if left | right else 1.0
            if similarity >= threshold:
                near.append((similarity, other.id))
        if near:
            best = max(similarity for similarity, _ in near)
            of = next(name for similarity, name in near if similarity == best)
            found.append((case.id, of, best))
        else:
            kept.append(case)
    return found


def listed(found: tuple[NearDuplicate, ...]) -> list[tuple[str, str, float]]:
    return [(duplicate.id, duplicate.of, duplicate.similarity) for duplicate in found]


def test_near_duplicates_of_a_few_questions() -> None:
    data = dataset(*QUESTIONS)
    assert listed(near_duplicates(data)) == [("2", "0", 1.0), ("5", "4", 1.0)]
    assert listed(near_duplicates(data, 0.7)) == [
        ("2", "0", 1.0),
        ("3", "0", 5 / 7),
        ("5", "4", 1.0),
    ]
    assert [case.id for case in without_near_duplicates(data, 0.7)] == ["0", "1", "4"]


def test_of_two_cases_that_are_as_near_the_earlier_is_named() -> None:
    assert listed(near_duplicates(dataset("a b", "c d", "a b c d"), 0.5)) == [("2", "0", 0.5)]


TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join), max_size=25)


@given(
    TEXTS,
    st.sampled_from([0.1, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]),
    st.integers(1, 3),
)
# What comes between a duplicate and its repetition may be nearer to the repetition.
@example(["b c", "a b", "a", "a b"], 0.1, 1)
def test_they_are_those_of_the_definition(texts: list[str], threshold: float, n: int) -> None:
    data = dataset(*texts)
    assert listed(near_duplicates(data, threshold, n=n)) == by_definition(data, threshold, n)


def test_rows_of_several_blocks_are_compared() -> None:
    texts = [f"a{i} b{i} c{i} d{i}" for i in range(600)]
    texts += [f"a{i} b{i} c{i} x{i}" for i in range(600)]
    found = near_duplicates(dataset(*texts), 0.6)
    assert listed(found) == [(str(600 + i), str(i), 0.6) for i in range(600)]


def test_a_duplicate_that_expects_something_else_is_told() -> None:
    cases = [
        GoldenCase(id="a", input="When?", expected_output="now"),
        GoldenCase(id="b", input="when", expected_output="now"),
        GoldenCase(id="c", input="when", expected_output="never"),
    ]
    found = near_duplicates(dataset().with_cases(cases))
    assert [(duplicate.id, duplicate.same_expectation) for duplicate in found] == [
        ("b", True),
        ("c", False),
    ]


@every_row(
    ("template", "threshold"),
    [
        ("the price of item {0} today please tell", 0.95),
        ("the price of item {0} today please tell", 0.8),
        ("{0} {0}a b c d e f", 0.6),
    ],
)
def test_cases_of_one_template_do_not_take_the_square(
    template: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share all but a word or two, and are not near: the rarest words tell, none is compared.

    At the lower thresholds all pairs share one of their rarest words.
    """
    small, large = (dataset(*(template.format(i) for i in range(n))) for n in (300, 1200))
    assert near_duplicates(small, threshold) == ()
    monkeypatch.setattr("rag_eval.text.paired_ngram_overlap", None)
    work = [operations(partial(near_duplicates, cases, threshold)) for cases in (small, large)]
    assert work[1] < 5 * work[0]


@every_row("threshold", [0, -1, 1.01, float("nan"), True, "0.8"])
def test_a_threshold_is_a_share(threshold: float) -> None:
    with pytest.raises(InputError, match="threshold must be a number above 0 and up to 1"):
        near_duplicates(dataset(), threshold)


@every_row("n", [0, 1.0, True])
def test_n_is_a_whole_number(n: int) -> None:
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        near_duplicates(dataset(), n=n)


def test_no_case_has_no_duplicate() -> None:
    assert near_duplicates(dataset()) == ()
    assert near_duplicates(dataset("")) == ()
