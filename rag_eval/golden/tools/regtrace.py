"""Regtrace's golden set (YAML) in; a dataset, or its errors, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.inputs.checked_records import Fault, Record, check_unique, records

_TYPES: Final = ("single_turn", "rag")
METRICS: Final = ("factuality", "format", "tone", "regression")
"""Metrics that a case can ask for, by Regtrace's names."""

_WITH_THRESHOLD: Final = METRICS[:3]
_TOP: Final = (
    "name",
    "version",
    "description",
    "interaction_type",
    "tags",
    "author",
    "created_at",
    "updated_at",
    "test_cases",
)
_CASE: Final = (
    "id",
    "description",
    "input",
    "system_prompt",
    "expected_output",
    "actual_output",
    "metrics",
    "tags",
    "weight",
    "thresholds",
    "context",
)


def validate_golden_set(document: Any) -> list[Fault]:
    """All errors in a golden set by Regtrace's rules; empty if it is valid.

    All fields except ``weight``, ``thresholds`` and ``context`` are required, ids must be unique,
    and cases of a set of type ``rag`` must have a context. Unknown keys are ignored unless they
    look like a misspelt known key.
    """
    return read_regtrace(document)[1]


def read_regtrace(document: Any) -> tuple[GoldenDataset | None, list[Fault]]:
    """The dataset of a golden set, and all its faults."""
    faults: list[Fault] = []
    if not isinstance(document, Mapping):
        Record({}, "", faults).note(None, "a mapping", document)
        return None, faults
    root = Record(document, "", faults)
    root.check_names(_TOP)
    texts = {key: root.text(key) for key in ("name", "version", "description")}
    for key in ("author", "created_at", "updated_at"):
        root.text(key)
    kind = root.get("interaction_type")
    if not isinstance(kind, str) or kind not in _TYPES:
        root.note("interaction_type", "single_turn or rag", kind)
    tags = root.texts("tags", required=True) or ()
    found = [(record, _case(record, kind == "rag")) for record in _cases(root)]
    check_unique((record, case.id or None) for record, case in found)
    dataset = GoldenDataset(
        name=texts["name"] or "",
        version=texts["version"] or "",
        cases=tuple(case for _, case in found),
        description=texts["description"],
        tags=tags,
        format="regtrace",
        source={key: value for key, value in document.items() if key != "test_cases"},
    )
    return (None if faults else dataset), faults


def _cases(root: Record) -> list[Record]:
    values = root.items("test_cases", required=True)
    if values is not None and not values:
        root.note("test_cases", "a list of at least one case", values)
    return records(root, "test_cases", values or ())


def _case(record: Record, needs_context: bool) -> GoldenCase:
    record.check_names(_CASE)
    if needs_context and not record.has("context"):
        record.note("context", "present, because interaction_type is rag", record.get("context"))
    return GoldenCase(
        id=record.text("id") or "",
        description=record.text("description"),
        input=record.text("input") or "",
        system_prompt=record.text("system_prompt", empty=True, null=True),
        expected_output=record.text("expected_output"),
        actual_output=record.text("actual_output", empty=True, null=True),
        metrics=_metrics(record),
        tags=record.texts("tags", required=True) or (),
        weight=record.number("weight", 1.0),
        thresholds=_thresholds(record),
        contexts=_contexts(record),
        source=record.values,
    )


def _metrics(record: Record) -> tuple[str, ...]:
    """The metrics under the ids of this library."""
    values = record.items("metrics", required=True)
    if values is None:
        return ()
    if not values:
        record.note("metrics", f"a list of at least one of {', '.join(METRICS)}", values)
    for index, value in enumerate(values):
        if not isinstance(value, str) or value not in METRICS:
            record.note(f"metrics[{index}]", f"one of {', '.join(METRICS)}", value)
    return tuple(f"regtrace.{value}" for value in dict.fromkeys(map(str, values)))


def _thresholds(record: Record) -> Mapping[str, float]:
    if "thresholds" not in record.values:
        return {}
    given = record.get("thresholds")
    if not isinstance(given, Mapping):
        record.note("thresholds", "a mapping", given)
        return {}
    inner = record.child(given, record.place("thresholds"))
    found = {}
    for metric in _WITH_THRESHOLD:
        if inner.has(metric):
            wanted = "a number from 0 to 1, or null"
            found[f"regtrace.{metric}"] = inner.number(metric, 0.0, wanted, most=1.0)
    return found


def _contexts(record: Record) -> tuple[str, ...] | None:
    given = record.mapping("context")
    if given is None:
        return None
    context = record.child(given, record.place("context"))
    documents = records(context, "documents", context.items("documents", required=True) or ())
    texts = []
    for document in documents:
        document.text("source")
        texts.append(document.text("content") or "")
        if document.has("retrieval_score"):
            document.number("retrieval_score", 0.0, "a number from 0 to 1, or null", most=1.0)
    return tuple(texts)
