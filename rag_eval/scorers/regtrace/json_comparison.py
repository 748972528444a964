"""How alike two JSON texts are, by Regtrace's formula.  In: two texts.  Out: a score."""

from __future__ import annotations

from typing import Any, Final

from rag_eval.plumbing.strict_json import MOST_DEPTH, json_depth
from rag_eval.scorers.javascript_json import parsed
from rag_eval.scorers.regtrace.json_structure import keyed
from rag_eval.scorers.regtrace.judge import strip_code_fences

_NO_JSON: Final = object()


def json_validity(actual: str) -> float:
    """1 if the text is JSON, once code fences at its ends are gone, else 0; see `is_json`."""
    return float(is_json(strip_code_fences(actual)))


def is_json(text: str) -> bool:
    """Whether a text is JSON as it stands; one nested more than 500 deep is none here."""
    return _value(text) is not _NO_JSON


def value_similarity(actual: str, expected: str) -> float:
    """How much of the expected JSON value the actual one has, from 0 to 1; 0 if either is no JSON.

    Scalars are equal or not, to the last digit. Objects share the mean over the expected keys,
    others are free; arrays go place by place, divided by the longer length. This compares values,
    so it is no check against a schema, though the tool calls it one.

    Notes
    -----
    Regtrace 0.10, its sub-check json_schema. An array and an object are compared by index as key.
    """
    found = _value(strip_code_fences(actual))
    wanted = _value(expected)
    if found is _NO_JSON or wanted is _NO_JSON:
        return 0.0
    return _alike(found, wanted)


def _alike(found: Any, wanted: Any) -> float:
    if isinstance(found, list) and isinstance(wanted, list):
        return _lists_alike(found, wanted)
    if isinstance(found, (dict, list)) and isinstance(wanted, (dict, list)):
        return _objects_alike(keyed(found), keyed(wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return float(found is wanted)
    return float(found == wanted)


def _objects_alike(found: dict[str, Any], wanted: dict[str, Any]) -> float:
    if not wanted:
        return 1.0
    total = 0.0
    for key, value in wanted.items():
        if key in found:
            total += _alike(found[key], value)
    return total / len(wanted)


def _lists_alike(found: list[Any], wanted: list[Any]) -> float:
    longer = max(len(found), len(wanted))
    if not longer:
        return 1.0
    total = 0.0
    for one, other in zip(found, wanted, strict=False):
        total += _alike(one, other)
    return total / longer


def _value(text: str) -> Any:
    if json_depth(text) > MOST_DEPTH:
        return _NO_JSON
    try:
        return parsed(text)
    except ValueError:
        return _NO_JSON
