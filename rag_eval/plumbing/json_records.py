"""Records -> JSON values: the fields of a dataclass under camelCase names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class JsonRecord:
    """A dataclass whose JSON is its fields; one that says more overrides ``to_dict``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, in their order; a number that does not exist is null."""
        return record_json(self)  # type: ignore[arg-type]  # subclasses are dataclasses


def record_json(record: DataclassInstance, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a record as JSON values, but for those named in ``without``."""
    return {
        camel_case(each.name): _json(getattr(record, each.name))
        for each in fields(record)
        if each.name not in without
    }


def _json(value: Any) -> Any:
    if isinstance(value, float):
        return number_or_null(value)
    if isinstance(value, Mapping):
        return {name: _json(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [_json(item) for item in value] if isinstance(value, (list, tuple)) else value
