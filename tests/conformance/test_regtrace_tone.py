"""Regtrace's own tone heuristics, against its vectors, which bring the words that count."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.scorers.regtrace.formulas import DIMENSIONS, tone_heuristic
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

ONE_DIMENSION = {
    "tone.formality": "formality",
    "tone.sentiment": "sentiment",
    "tone.assertiveness": "assertiveness",
    # One of its hedges is listed twice and counts twice; the vectors inject it twice.
    "tone.assertiveness_quirk": "assertiveness",
    "tone.persona_consistency": "persona_consistency",
    "tone.verbosity": "verbosity",
    "tone.verbosity_utf16": "verbosity",
}
# The tool reads weights and leaves them aside; so does its formula here.
SEVERAL = ("tone.combined", "tone.weights_ignored_quirk")


def _cases(*functions: str) -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for name in functions
        for case in cases(f"regtrace.{name}")
    ]


def _agrees(case: dict[str, Any], sub_dimensions: list[str]) -> None:
    args, expected = case["args"], case["expected"]
    found = tone_heuristic(
        args["actual"], args["expected"], args.get("lexicon", {}), sub_dimensions
    )
    assert same(found.score, expected["score"])
    assert same(found.confidence, expected["confidence"])
    assert (found.score >= args["threshold"]) is expected["passed"]


@every_row("case", _cases(*ONE_DIMENSION))
def test_a_dimension_is_that_of_the_tool(case: dict[str, Any]) -> None:
    _agrees(case, [ONE_DIMENSION[case["fn"]]])


@every_row("case", _cases(*SEVERAL))
def test_several_dimensions_are_their_mean(case: dict[str, Any]) -> None:
    wanted = case["args"]["sub_dimensions"]
    _agrees(case, [name for name, is_wanted in wanted.items() if is_wanted])


def test_every_dimension_has_vectors() -> None:
    assert set(ONE_DIMENSION.values()) == set(DIMENSIONS)
