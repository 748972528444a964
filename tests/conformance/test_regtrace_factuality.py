"""Regtrace's own shallow factuality and JSON comparison, against its vectors."""

from __future__ import annotations

from typing import Any

from rag_eval.scorers.regtrace.formulas import (
    ngram_factuality,
    structure_as_code,
    words_of_letters,
)
from rag_eval.scorers.regtrace.json_structure import ABSENT, Mismatch, compact, printed
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

_MOST = 80


def _id(case: dict[str, Any]) -> str:
    return str(case["id"])


def is_emptied(case: dict[str, Any]) -> bool:
    """The tool finds no word in either text, whatever their script, and takes them for alike.

    Here a score that nothing was compared for is null, but for texts that are the same.
    """
    args = case["args"]
    texts = (args["actual"], args["expected"])
    return texts[0] != texts[1] and not any(map(words_of_letters, texts)) and not is_skipped(case)


def is_skipped(case: dict[str, Any]) -> bool:
    """The tool gives 1 to what it was told to hold against contexts and has none of.

    Here there is nothing to measure then, which `regtrace.factuality` says.
    """
    args = case["args"]
    return bool(args.get("rag_faithfulness_only")) and "context" not in args


@every_row(
    "case",
    [c for c in cases("regtrace.factuality_shallow") if not is_emptied(c) and not is_skipped(c)],
    ids=_id,
)
def test_overlap_is_that_of_the_tool(case: dict[str, Any]) -> None:
    args, expected = case["args"], case["expected"]
    found = ngram_factuality(args["actual"], args["expected"], args["mode"])
    assert found.score is not None
    assert same(found.score, expected["score"])
    assert (found.score >= args["threshold"]) is expected["passed"]
    assert (found.structure is not None) is expected["structural"]


@every_row("case", [c for c in cases("regtrace.factuality_shallow") if is_emptied(c)], ids=_id)
def test_texts_without_a_word_are_not_alike_by_that(case: dict[str, Any]) -> None:
    args = case["args"]
    assert args["actual"] != args["expected"]
    assert ngram_factuality(args["actual"], args["expected"], args["mode"]).score is None


@every_row("case", cases("regtrace.factuality_json"), ids=_id)
def test_json_is_compared_as_the_tool_does(case: dict[str, Any]) -> None:
    args, expected = case["args"], case["expected"]
    found = ngram_factuality(args["actual"], args["expected"], args["mode"])
    assert found.score is not None
    assert same(found.score, expected["score"])
    assert (found.score >= args["threshold"]) is expected["passed"]
    assert (found.structure is not None) is expected["structural"]
    if found.structure is None:
        return
    assert found.structure.matched == expected["matched"]
    assert found.structure.expected + found.structure.extra == expected["total"]
    assert found.structure.n_mismatches == expected["mismatch_count"]
    shown = [_detail(mismatch) for mismatch in found.structure.mismatches]
    assert len(shown) == len(expected["details"])
    for one, wanted in zip(shown, expected["details"], strict=True):
        # The vectors leave out values that JavaScript prints as an object.
        assert {name: one.get(name) for name in wanted} == wanted


def _detail(mismatch: Mismatch) -> dict[str, Any]:
    sides = {"expected": mismatch.expected, "actual": mismatch.actual}
    text = printed if mismatch.kind == "wrong" or mismatch.of_set else compact
    return {
        "check": f"json_path.{mismatch.path}",
        "passed": False,
        "kind": mismatch.kind,
        **{name: _cut(text(value)) for name, value in sides.items() if value is not ABSENT},
    }


def _cut(text: str) -> str:
    """80 UTF-16 units and an ellipsis."""
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * _MOST:
        return text
    return units[: 2 * _MOST].decode("utf-16-le", "surrogatepass") + "…"


def test_a_line_break_after_a_fence_leaves_the_fence_in_place() -> None:
    assert structure_as_code('```json\n{"a":1}\n```\n', '{"a":1}') is None
    assert structure_as_code('```json\n{"a":1}\n```', '{"a":1}') is not None
