"""HazelJS's golden dataset (JSON) in; a dataset, or its errors, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.golden.datasets import CASE_FIELDS, GoldenCase, GoldenDataset
from rag_eval.golden.tools.omk import checked_assertions
from rag_eval.inputs.checked_records import Fault, Record, check_unique, records
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.spelling import camel_case
from rag_eval.scorers.tool_calls import tool_call_of

_TOP: Final = ("name", "version", "cases", "description", "tags", "metadata")
_CASE: Final = tuple(map(camel_case, CASE_FIELDS))


def read_hazel(document: Mapping[str, Any]) -> tuple[GoldenDataset | None, list[Fault]]:
    """The dataset of a document in HazelJS's schema, and all its faults.

    ``name``, ``version`` and ``cases`` have to be there; a case needs ``id`` and ``input``. Keys in
    snake_case are accepted, and so are the fields of a :class:`GoldenCase` that HazelJS lacks.
    """
    faults: list[Fault] = []
    root = Record(document, "", faults)
    root.check_names(_TOP)
    name, version = root.text("name"), root.text("version")
    found = [(record, _case(record)) for record in _cases(root)]
    check_unique((record, case.id or None) for record, case in found)
    dataset = GoldenDataset(
        name=name or "",
        version=version or "",
        cases=tuple(case for _, case in found),
        description=root.optional_text("description"),
        tags=root.texts("tags") or (),
        source={key: value for key, value in document.items() if key != "cases"},
    )
    return (None if faults else dataset), faults


def _cases(root: Record) -> list[Record]:
    return records(root, "cases", root.items("cases", required=True) or ())


def _case(record: Record) -> GoldenCase:
    record.check_names(_CASE)
    return GoldenCase(
        id=record.text("id") or "",
        input=record.text("input", empty=True) or "",
        expected_output=record.optional_text("expectedOutput"),
        expected_tool_calls=_tool_calls(record),
        expected_retrieved_ids=_ids(record),
        metadata=record.mapping("metadata") or {},
        weight=record.number("weight", 1.0),
        contexts=record.texts("contexts"),
        assertions=checked_assertions(record),
        metrics=record.texts("metrics") or (),
        thresholds=_thresholds(record),
        tags=record.texts("tags") or (),
        description=record.optional_text("description"),
        system_prompt=record.optional_text("systemPrompt"),
        actual_output=record.optional_text("actualOutput"),
        source=record.values,
    )


def _tool_calls(record: Record) -> tuple[Any, ...] | None:
    calls = record.items("expectedToolCalls")
    if calls is None:
        return None
    check_calls(record, "expectedToolCalls", calls)
    return tuple(calls)


def check_calls(record: Record, key: str, calls: list[Any]) -> None:
    """Note entries that are not tool calls."""
    for index, call in enumerate(calls):
        try:
            tool_call_of(call, "")
        except InputError:
            wanted = "the name of a tool, or a mapping with one"
            record.note(f"{key}[{index}]", wanted, call)


def _ids(record: Record) -> tuple[str | int, ...] | None:
    ids = record.items("expectedRetrievedIds")
    if ids is None:
        return None
    for index, value in enumerate(ids):
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            record.note(f"expectedRetrievedIds[{index}]", "an id, a text or a whole number", value)
    return tuple(ids)


def _thresholds(record: Record) -> Mapping[str, float]:
    given = record.mapping("thresholds") or {}
    for metric, value in given.items():
        if not is_number(value):
            record.note(f"thresholds.{metric}", "a number", value)
    return given
