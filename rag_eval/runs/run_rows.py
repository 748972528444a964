"""Ids and metadata, row by row, in; the checked columns of a scored run out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.inputs.tables import name_of
from rag_eval.plumbing import json_text
from rag_eval.results.score_tables import missing_id, shown_names


class RunRows:
    """The ids and the kept metadata of rows.

    Parameters
    ----------
    source : str
        Name of the run in messages.
    id_field : str
        Name of the field with the ids.
    repeats : bool
        Whether an id may occur more than once.
    """

    def __init__(self, source: str, *, id_field: str, repeats: bool = False) -> None:
        self.source = source
        self.ids: list[str] = []
        self._id_field = id_field
        self._repeats = repeats
        self._rows: dict[str, int] = {}
        self.columns: defaultdict[str, list[str | None]] = defaultdict(list)
        # A metadata field usually has few distinct values.
        self._texts: dict[str, str] = {}

    def add(
        self,
        row_id: object,
        columns: Sequence[str],
        values: Iterable[Any],
        place: str,
        *,
        as_kept: bool = False,
    ) -> None:
        """Add a row: its id and a value for each column.

        Ids ``as_kept`` were checked when the run was first read and may be repeated.
        """
        is_text = type(row_id) is str and (row_id or as_kept)
        name = str(row_id) if is_text else self._id(row_id, place)
        row = len(self.ids)
        before = self._rows.setdefault(name, row)
        if before != row and not (as_kept or self._repeats):
            raise InputError(
                f"{self.source}: {self._id_field} {glance(name)} occurs in rows {before + 1:,} and "
                f"{row + 1:,}. Give every sample its own id. To compare repeated runs, save each "
                "run in its own file"
            )
        self.ids.append(name)
        for column, value in zip(columns, values, strict=True):
            is_text = type(value) is str and (value or as_kept)
            kept = self._texts.setdefault(value, value) if is_text else None
            if not is_text and value is not None:
                kept = self._text(value, column, place)
            self.columns[column].append(kept)

    def _id(self, value: object, place: str) -> str:
        if value is None or value == "":
            raise missing_id(self.source, place, self._id_field)
        return name_of(value, self._id_field, f"{self.source}, {place}")

    def _text(self, value: object, column: str, place: str) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            if isinstance(value, (list, dict)):
                raise InputError(
                    f"{self.source}, {place}: {column} must be a string, a number or a "
                    f"boolean, got {type(value).__name__}"
                )
            value = json_text.dumps(value).decode()
        return self._texts.setdefault(value, value)


def check_columns(
    wanted: Iterable[str],
    columns: Mapping[str, Sequence[str | None]],
    known: Collection[str],
    fields: Iterable[str],
    source: str,
) -> None:
    """Raise an error for columns without any value, unless they are ``known`` to exist.

    Raises
    ------
    InputError
        With the first such column, and a field with a similar name.
    """
    for name in wanted:
        if name in known or any(value is not None for value in columns.get(name, ())):
            continue
        names = sorted(fields)
        raise InputError(
            f"{source}: no row has a field {glance(name)}{suggestion(name, names)} "
            f"(fields: {shown_names(names)})"
        )
