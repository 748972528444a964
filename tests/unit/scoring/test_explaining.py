"""A row's metrics without their explanations are those that explanations have."""

from __future__ import annotations

from itertools import product
from typing import Any

import rag_eval
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.samples import NullReason, Profile
from rag_eval.scoring.explaining import LazyMetrics, MetricScore
from tests.tables import every_row

DOOR = "The door is red. Ana Ortiz painted it in 1987."
SAMPLES: list[dict[str, Any]] = [
    {"question": "Who painted it?", "answer": answer, "contexts": contexts, "groundTruth": truth}
    for answer, contexts, truth in product(
        (DOOR, "I cannot answer that.", ""), ([DOOR], [""], []), (DOOR, "")
    )
]


@every_row("profile", ["overlap", "grounded"])
def test_scores_have_the_verdicts_and_null_reasons_of_explained_metrics(profile: Profile) -> None:
    reasons = set()
    for sample in SAMPLES:
        metrics = ALL_METRIC_IDS if profile == "grounded" else METRIC_IDS
        lazy = rag_eval.evaluate(sample, metrics, profile=profile).metrics
        assert isinstance(lazy, LazyMetrics)
        found = lazy.scored()
        assert found == [
            MetricScore(one.metric_id, one.score, one.passed, one.threshold, one.null_reason)
            for one in lazy.values()
        ]
        reasons |= {one.null_reason for one in found}
    # The overlap profile has 0 where the other one has null.
    assert (len(reasons) > 2) == (profile == "grounded")
    assert NullReason.MEASURED in reasons
