"""Mastra's scorers of texts that need no judge, against what the package itself gives."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import distribution
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.mastra.keyword_coverage import create_keyword_coverage_scorer
from rag_eval.scorers.mastra.scorer import CodeScorer, MastraResult
from rag_eval.scorers.mastra.similarity import (
    create_content_similarity_scorer,
    create_textual_difference_scorer,
)
from rag_eval.scorers.mastra.tone_consistency import create_tone_consistency_scorer
from tests.conformance.other_tools import mastra_cases, same
from tests.tables import every_row

# The package is not imported: Python 3.12 and later warn of its code.
AFINN = distribution("afinn").locate_file("afinn/data/AFINN-en-165.txt")

CREATE: dict[str, Callable[..., CodeScorer]] = {
    "content-similarity": create_content_similarity_scorer,
    "textual-difference": create_textual_difference_scorer,
    "keyword-coverage": create_keyword_coverage_scorer,
    "tone-consistency": create_tone_consistency_scorer,
}

# Decided against: names that every JavaScript object has are no negations here, and the word after
# one of them keeps its sign.
NO_NEGATION = {
    "mastra-tone-consistency-proto": 1.5,
    "mastra-tone-consistency-proto2": 0.0,
}


def result(case: dict[str, Any]) -> MastraResult:
    options = dict(case["options"])
    if case["scorer"] == "tone-consistency":
        options["lexicon"] = AFINN
    if case.get("options_passed"):
        # There an options object turns off what it does not name; here it keeps its default.
        options = {"ignoreCase": False, "ignoreWhitespace": False} | options
    run = {"input": case["input"], "output": case["output"]}
    return CREATE[case["scorer"]](options).run(run)


@every_row("case", mastra_cases(*CREATE), ids=lambda case: case["id"])
def test_score_and_details_are_those_of_mastra(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if expected["score"] is None:
        with pytest.raises(InputError):
            result(case)
        return
    found = result(case)
    details = {**(found.preprocess_result or {}), **(found.analyze_result or {})}
    if case["id"] in NO_NEGATION:
        assert not same(found.score, expected["score"])
        assert details["avgSentiment"] == NO_NEGATION[case["id"]]
        return
    assert same(found.score, expected["score"], tolerance=0)
    named = {name: details[name] for name in expected["details"]}
    assert same(named, expected["details"], tolerance=0)


def test_the_departures_are_of_vectors_that_exist() -> None:
    quirks = {case["id"] for case in mastra_cases("tone-consistency") if "quirk" in case}
    assert quirks > NO_NEGATION.keys()


def test_the_lexicon_of_the_vectors_is_the_one_they_were_made_with() -> None:
    words = create_tone_consistency_scorer(lexicon=AFINN).settings.words
    assert (len(words), words["outstanding"], words["bastards"]) == (3382, 5, -5)
