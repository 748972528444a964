"""Splits that hold back the same cases always, and differences by id."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.golden import (
    ChangedCase,
    GoldenCase,
    GoldenDataset,
    diff_golden_datasets,
    split_golden_dataset,
)
from tests.tables import every_row


def dataset(*cases: GoldenCase) -> GoldenDataset:
    return GoldenDataset(name="d", version="1", cases=cases)


def numbered(n: int, n_tags: int = 1) -> GoldenDataset:
    return dataset(*(GoldenCase(id=f"c{i}", input="q", tags=(f"t{i % n_tags}",)) for i in range(n)))


def ids(data: GoldenDataset) -> list[str]:
    return [case.id for case in data]


def test_the_cases_that_are_held_back_are_these() -> None:
    """They must never change from version to version, or held back cases would leak."""
    assert ids(split_golden_dataset(numbered(20)).holdout) == HELD
    assert ids(split_golden_dataset(numbered(20), seed=1).holdout) != HELD


HELD = ["c3", "c6", "c15", "c16"]


@given(
    st.lists(st.text(max_size=5), unique=True, max_size=40),
    st.floats(0.01, 0.99),
    st.integers(-5, 5),
    st.randoms(),
)
def test_a_split_parts_the_cases_whatever_their_order(
    names: list[str], share: float, seed: int, random: object
) -> None:
    data = dataset(*(GoldenCase(id=name, input="q") for name in names))
    rest, holdout = split_golden_dataset(data, share, seed=seed)
    assert len(holdout) == int(len(names) * share + 0.5)
    assert sorted(ids(rest) + ids(holdout)) == sorted(names)
    assert ids(rest) == [name for name in names if name in set(ids(rest))]
    shuffled = list(data.cases)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = split_golden_dataset(dataset(*shuffled), share, seed=seed)
    assert set(ids(again.holdout)) == set(ids(holdout))


def test_few_cases_change_sides_when_cases_are_added() -> None:
    before = set(ids(split_golden_dataset(numbered(1000)).holdout))
    after = set(ids(split_golden_dataset(numbered(1100)).holdout))
    assert len(before - after) <= 20


def test_every_set_of_tags_gives_its_share() -> None:
    holdout = split_golden_dataset(numbered(100, n_tags=4), 0.2, by="tags").holdout
    assert Counter(case.tags for case in holdout) == {(f"t{n}",): 5 for n in range(4)}


@every_row("share", [0, 1, -0.1, float("nan"), True, "0.2"])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(InputError, match="holdout must be a number between 0 and 1"):
        split_golden_dataset(numbered(3), share)


def test_other_options_are_checked() -> None:
    with pytest.raises(InputError, match="seed must be a whole number"):
        split_golden_dataset(numbered(3), seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"seed must be at most 2\*\*256 - 1, got <int of 16610"):
        split_golden_dataset(numbered(3), seed=10**5000)
    with pytest.raises(InputError, match="by must be 'tags' or None"):
        split_golden_dataset(numbered(3), by="id")  # type: ignore[arg-type]


def test_a_difference_names_cases_and_fields() -> None:
    old = dataset(
        GoldenCase(id="same", input="q"),
        GoldenCase(id="gone", input="q"),
        GoldenCase(id="other", input="q", expected_output="x"),
    )
    new = dataset(
        GoldenCase(id="new", input="q"),
        GoldenCase(id="other", input="p", expected_output="x", weight=2.0),
        GoldenCase(id="same", input="q", source={"id": "same", "note": 1}),
    )
    found = diff_golden_datasets(old, new)
    assert (found.added, found.removed, found.unchanged) == (("new",), ("gone",), 1)
    assert found.changed == (ChangedCase("other", ("input", "weight")),)
    assert found.to_dict()["changed"] == [{"id": "other", "fields": ["input", "weight"]}]
    assert found
    assert not diff_golden_datasets(old, old)
