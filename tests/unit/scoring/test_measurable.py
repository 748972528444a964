"""Which fields a metric cannot do without."""

from __future__ import annotations

from rag_eval import evaluate
from rag_eval.metrics.seven import GROUNDED_METRICS, OVERLAP_METRICS, needed_fields
from rag_eval.samples import NullReason
from tests.tables import every_row

SAMPLE = {
    "question": "How high is Mont Blanc?",
    "answer": "Mont Blanc is 4,806 metres high. It stands in Savoy.",
    "contexts": ["Mont Blanc is 4,806 metres high.", "Bananas are rich in potassium."],
    "ground_truth": "Mont Blanc is 4,806 metres high.",
}


@every_row("metric", list(GROUNDED_METRICS))
def test_a_metric_of_the_grounded_profile_is_missing_just_the_fields_it_needs(metric: str) -> None:
    """What messages call missing is what makes the kernels say so."""
    lacking = {
        name
        for name in SAMPLE
        if evaluate(
            {key: value for key, value in SAMPLE.items() if key != name},
            [metric],
            profile="grounded",
        )
        .metrics[metric]
        .null_reason
        is NullReason.MISSING_FIELD
    }
    assert lacking == set(needed_fields(GROUNDED_METRICS[metric]))


def test_the_overlap_profile_has_nulls_for_want_of_a_ground_truth_alone() -> None:
    needing = [m for m, spec in OVERLAP_METRICS.items() if "ground_truth" in needed_fields(spec)]
    assert needing == ["context_recall", "answer_correctness"]
