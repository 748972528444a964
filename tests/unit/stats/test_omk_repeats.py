"""Reports of omk that lack a part, and what its figures of repeats make of them."""

from __future__ import annotations

from typing import Any

from rag_eval.stats.omk.repeats import stability_cv, variant_summary
from tests.tables import every_row

SPREAD = {"a": {"mean": 4.0, "stddev": 1.0}}


@every_row(
    ("report", "expected"),
    [
        ({"variance": {"runs": 2, "perVariant": SPREAD}}, {"runs": 2, "cv": 0.25}),
        ({"variance": {"runs": 2}}, None),
        ({"variance": None}, None),
        # The number of runs is that of the request if the spread does not say, and otherwise 1.
        (
            {"variance": {"perVariant": SPREAD}, "meta": {"request": {"repeat": 3}}},
            {"runs": 3, "cv": 0.25},
        ),
        ({"variance": {"perVariant": SPREAD}}, None),
        # A variant without a mean or a standard deviation is left out.
        (
            {"variance": {"runs": 2, "perVariant": {**SPREAD, "b": {"mean": 4.0}}}},
            {"runs": 2, "cv": 0.25},
        ),
        ({"variance": {"runs": 2, "perVariant": {"b": {"mean": None, "stddev": 1.0}}}}, None),
    ],
)
def test_stability_of_reports_that_lack_a_part(
    report: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert stability_cv(report) == expected


@every_row(
    ("layers", "expected"),
    [
        ([4.0, 0], 2.0),
        ([0], 0.0),
        ([4.0, None], 4.0),
        ([], None),
    ],
)
def test_a_layer_of_zero_counts_in_its_mean(
    layers: list[float | None], expected: float | None
) -> None:
    entries = [{"ok": True, "layeredScores": {"factScore": score}} for score in layers]
    assert variant_summary(entries)["avgFactScore"] == expected
