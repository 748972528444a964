"""Reads samples from the rows of a tool; raises if the tool is not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import MissingExtraError
from rag_eval.inputs.schemas.fields import FieldMap, field_map, paths_of_rows

# Attributes in which documents, nodes and messages hold their text.
_TEXT_ATTRIBUTES: Final = ("page_content", "text", "content", "response")
_MAX_DEPTH: Final = 5
# Optional fields, which some rows may lack.
_OPTIONAL: Final = frozenset({"ground_truth", "groundTruth", "id", "metadata", "language"})


class RowReader:
    """Reads rows of one schema.

    Parameters
    ----------
    schema : str
        One of :data:`rag_eval.inputs.schemas.fields.SCHEMA_NAMES`.
    fields : mapping, optional
        Our field -> its path in a row (``outputs.docs``), if it differs from the schema.
    """

    __slots__ = ("_fields", "_schema")

    def __init__(self, schema: str | None, fields: Mapping[str, str] | None = None) -> None:
        self._schema = schema
        self._fields = dict(fields or {})

    def sample(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The sample of one row."""
        return self.samples([row])[0]

    def samples(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The samples of rows with the same fields.

        Raises
        ------
        InputError
            If a field is not at its path; optional fields may be missing.
        """
        # An empty object has no fields and would be mistaken for a wrong type.
        plain = [
            {name: plain_value(value) for name, value in row.items() if value not in (None, {})}
            for row in rows
        ]
        if not plain:
            return []
        paths = paths_of_rows(plain)
        absent = {
            name for name in _OPTIONAL & self._fields.keys() if self._fields[name] not in paths
        }
        given = {name: path for name, path in self._fields.items() if name not in absent}
        found = field_map(paths, schema=self._schema, mapping=given)
        if absent:
            # A mapped field is not also searched for under its usual name.
            unnamed = {"ground_truth" if name == "groundTruth" else name for name in absent}
            kept = {name: path for name, path in found.paths.items() if name not in unnamed}
            found = FieldMap(found.schema, kept)
        return [found.row(row) for row in plain]


def plain_value(value: Any, depth: int = 0) -> Any:
    """Replace objects that hold a text by that text, also in lists and dicts."""
    if isinstance(value, str) or depth == _MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        return {name: plain_value(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item, depth + 1) for item in value]
    for name in _TEXT_ATTRIBUTES:
        text = getattr(value, name, None)
        if isinstance(text, str):
            return str(text)
    return value


def fields(**values: Any) -> dict[str, Any]:
    """A sample from single values, without those that are missing."""
    return {name: plain_value(value) for name, value in values.items() if value is not None}


def missing_package(tool: str, package: str) -> MissingExtraError:
    """The error for ``rag_eval.integrations.<tool>`` if its package is not installed."""
    return MissingExtraError(
        f"rag_eval.integrations.{tool} needs {package}: pip install {package!r}"
    )
