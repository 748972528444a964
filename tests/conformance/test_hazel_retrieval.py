"""HazelJS's retrieval measures and word overlap against its vectors."""

from __future__ import annotations

from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.retrieval import (
    answer_context_overlap,
    evaluate_retrieval,
    mean_reciprocal_rank,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from tests.conformance.other_tools import cases, functions, same
from tests.tables import every_row

AT_K = {"precision_at_k": precision_at_k, "recall_at_k": recall_at_k, "ndcg_at_k": ndcg_at_k}

# ------------------------------------------------------------------- the closed list of departures

# An id that is retrieved again adds gain there, so that nDCG exceeds 1; here it gains once.
REPEATED_GAIN = "ndcg_at_k_duplicates_quirk"
# Below 1 there is no first k: precision is 0 there, recall and nDCG leave out the last -k ids.


def is_left_out(case: dict[str, Any]) -> bool:
    return bool(case["args"].get("k", 1) < 1)


def at_k_cases() -> list[dict[str, Any]]:
    present = functions()
    names = [f"hazeljs.{name}{end}" for name in AT_K for end in ("", "_edge")]
    return [case for name in names if name in present for case in cases(name)]


@every_row("case", at_k_cases(), ids=lambda case: case["id"])
def test_measures_at_k(case: dict[str, Any]) -> None:
    measure = AT_K[case["fn"].removesuffix("_edge")]
    args = case["args"]
    if is_left_out(case):
        with pytest.raises(InputError, match="k must be a whole number of at least 1"):
            measure(args["retrieved"], args["relevant"], args["k"])
        return
    assert same(measure(args["retrieved"], args["relevant"], args["k"]), case["expected"])


@every_row("case", cases(f"hazeljs.{REPEATED_GAIN}"), ids=lambda case: case["id"])
def test_a_repeated_id_adds_no_gain(case: dict[str, Any]) -> None:
    args = case["args"]
    found = ndcg_at_k(args["retrieved"], args["relevant"], args["k"])
    ids: list[str] = args["retrieved"]
    distinct = [
        one if ids.index(one) == place else f"again {place}" for place, one in enumerate(ids)
    ]
    assert found == ndcg_at_k(distinct, args["relevant"], args["k"]) <= 1
    assert found < case["expected"]


def test_a_repeated_id_takes_its_places() -> None:
    """Else the rank of what follows it would be another than that of @hazeljs/eval."""
    assert precision_at_k(["a", "a", "b"], ["a"], 3) == 2 / 3
    assert precision_at_k(["a", "a", "b"], ["a"], 4, denominator="k") == 2 / 4
    assert recall_at_k(["a", "a", "b"], ["a", "b"], 2) == 1 / 2
    assert mean_reciprocal_rank(["x", "x", "a"], ["a"]) == 1 / 3
    assert ndcg_at_k(["x", "x", "a"], ["a"], 3) == 1 / 2


@every_row("case", cases("hazeljs.mrr"), ids=lambda case: case["id"])
def test_mean_reciprocal_rank(case: dict[str, Any]) -> None:
    args = case["args"]
    assert same(mean_reciprocal_rank(args["retrieved"], args["relevant"]), case["expected"])


@every_row("case", cases("hazeljs.evaluate_retrieval"), ids=lambda case: case["id"])
def test_evaluate_retrieval(case: dict[str, Any]) -> None:
    args = case["args"]
    k = {"k": args["k"]} if "k" in args else {}
    found = evaluate_retrieval("What is HazelJS?", args["retrieved"], args["relevant"], **k)
    assert same(found.to_dict(), case["expected"])


@every_row(
    "case",
    cases("hazeljs.answer_context_overlap") + cases("hazeljs.answer_context_overlap_utf16"),
    ids=lambda case: case["id"],
)
def test_answer_context_overlap(case: dict[str, Any]) -> None:
    args = case["args"]
    assert same(answer_context_overlap(args["answer"], args["context"]), case["expected"])
