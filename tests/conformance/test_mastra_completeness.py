"""Mastra's completeness on its own results: coverage exactly, whole texts nearly."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.scorers.mastra.completeness import create_completeness_scorer
from rag_eval.scorers.mastra.elements import element_coverage
from rag_eval.scorers.mastra.runs import RunError
from tests.conformance.other_tools import mastra_cases
from tests.tables import every_row

CASES = mastra_cases("completeness")
SCORED = [case for case in CASES if case["expected"]["score"] is not None]
REFUSED = [case for case in CASES if case["expected"]["score"] is None]
NEAR = 0.10
# Of texts whose score is near; the vectors were made with a tagger of English.
FLOORS = {"own": 0.95, "lemminflect": 0.95}


def run(case: dict[str, Any]) -> dict[str, Any]:
    return {"input": case["input"], "output": case["output"]}


@every_row("case", SCORED, ids=[case["id"] for case in SCORED])
def test_coverage_of_their_elements_is_the_same(case: dict[str, Any]) -> None:
    details = case["expected"]["details"]
    found = element_coverage(details["inputElements"], details["outputElements"])
    assert found == case["expected"]["score"]


@every_row("lemmas", sorted(FLOORS))
def test_most_texts_score_within_a_tenth(lemmas: str) -> None:
    scorer = create_completeness_scorer(lemmas=lemmas)
    gaps = [abs(scorer.run(run(case)).score - case["expected"]["score"]) for case in SCORED]  # type: ignore[operator]
    assert sum(gap <= NEAR for gap in gaps) >= FLOORS[lemmas] * len(gaps)
    assert sum(gaps) / len(gaps) < 0.01
    assert max(gaps) <= 0.25


@every_row("case", REFUSED, ids=[case["id"] for case in REFUSED])
def test_a_run_without_a_side_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="needs an"):
        create_completeness_scorer().run(run(case))


def test_findings_have_their_names() -> None:
    case = next(case for case in SCORED if case["id"] == "mastra-completeness-x-ratio-4of6")
    assert (
        create_completeness_scorer().run(run(case)).preprocess_result == case["expected"]["details"]
    )
