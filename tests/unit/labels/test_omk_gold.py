"""omk's comparison with gold labels where there are few pairs, and what it keeps of ours."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.labels.omk_gold import gold_compare, omk_agreement
from tests.tables import every_row


@every_row(
    ("gold", "judge", "bounds", "n_resamples"),
    [
        # One pair is drawn in every resample: its interval has no width.
        ([3.0], [4.0], 0.0, 200),
        ([3.0], [3.0], None, 200),
        ([], [], None, 0),
    ],
)
def test_the_interval_of_one_pair_or_none(
    gold: list[float], judge: list[float], bounds: float | None, n_resamples: int
) -> None:
    found = omk_agreement(gold, judge, samples=200)["alphaCI"]
    assert found == {"low": bounds, "high": bounds, "estimate": bounds, "samples": n_resamples}


def compared(annotator: str = "anna", judge: str = "claude:opus", **more: Any) -> dict[str, Any]:
    results = [
        {"sample_id": "a", "variants": {"base": {"llmScore": 3.3}}},
        {"sample_id": "b", "variants": {"base": {"llmScore": 0}}},
    ]
    given: dict[str, Any] = {"annotator": annotator, "judges": [judge], "variants": ["base"]}
    return gold_compare(results, {"a": 1.1, "b": 2}, samples=20, **given, **more)


@every_row(
    ("annotator", "judge", "expected"),
    [
        ("opus-v4", "claude:opus", True),
        ("claude:opus reviewed", "claude:opus", True),
        ("OPUS", "claude:opus", True),
        ("claude", "x:opus", False),
        ("anna", "claude:", False),
    ],
)
def test_the_model_of_a_judge_alone_is_no_gold_annotator(
    annotator: str, judge: str, expected: bool
) -> None:
    assert compared(annotator, judge)["contaminated"] is expected


def test_differences_have_four_decimals_and_a_failed_judgement_is_no_score() -> None:
    found = compared()
    assert found["rows"] == [{"sample_id": "a", "goldScore": 1.1, "judgeScore": 3.3, "diff": 2.2}]
    # omk compares the 0 of a judgement that failed.
    assert found["unscored"] == ["b"]


def test_an_unknown_variant_is_refused() -> None:
    """omk reports that no sample is scored."""
    with pytest.raises(InputError, match="unknown variant 'bas'; did you mean 'base'"):
        compared(variant="bas")
