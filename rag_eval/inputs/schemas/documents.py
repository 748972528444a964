"""JSON documents of other tools that are one object with rows inside -> those rows."""

from __future__ import annotations

from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.schemas.fields import value_at
from rag_eval.inputs.schemas.tools import ANSWER_ASSERTIONS

# Key of the rows in a document -> keys of which a row has one when the document is of that kind.
_ROW_LISTS: Final = {
    "samples": ("input",),  # Inspect
    "examples": ("query",),  # LlamaIndex
    "predictions": ("response",),  # LlamaIndex
    "results": ("query",),  # RAGChecker
    "testCases": ("input",),  # deepeval
}


def rows_of_document(document: object) -> list[dict[str, Any]] | None:
    """The rows inside a JSON document that is one object, or None when it is of no known kind.

    Known are results of promptfoo and RAGChecker, logs of Inspect, datasets and predictions of
    LlamaIndex, test runs of deepeval, and the inputs and reports of Haystack's evaluations, whose
    columns become rows. Rows of promptfoo get ``expected``: the values of those assertions that
    say what the answer should be.

    Raises
    ------
    InputError
        For columns that differ in length.
    """
    if not isinstance(document, dict):
        return None
    results = document.get("results")
    if isinstance(results, dict) and (rows := _objects(results.get("results"))) is not None:
        return [_with_expected(row) for row in rows]
    for key, telling in _ROW_LISTS.items():
        found = _objects(document.get(key))
        if found and any(name in row for row in found for name in telling):
            return found
    for columns in (document, document.get("inputs")):
        if isinstance(columns, dict) and isinstance(columns.get("questions"), list):
            return _rows_of_columns(columns)
    return None


def _objects(value: object) -> list[dict[str, Any]] | None:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return None


def _with_expected(row: dict[str, Any]) -> dict[str, Any]:
    assertions = _objects(value_at(row, ("testCase", "assert"))) or []
    values: dict[str, None] = {}  # several measures may compare with the same answer
    for assertion in assertions:
        kind, value = str(assertion.get("type")), assertion.get("value")
        # What follows a colon is how the two are compared.
        if kind.partition(":")[0] in ANSWER_ASSERTIONS and isinstance(value, str):
            values[value] = None
    if not values or "expected" in row:
        return row
    expected = list(values)
    return row | {"expected": expected[0] if len(expected) == 1 else expected}


def _rows_of_columns(columns: dict[str, Any]) -> list[dict[str, Any]]:
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    n_rows = len(lists["questions"])
    for name, values in lists.items():
        if len(values) != n_rows:
            raise InputError(
                f"questions holds {n_rows} values and {name} {len(values)}; "
                "wanted one per row in each column"
            )
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
