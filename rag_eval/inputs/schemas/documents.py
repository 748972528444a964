"""JSON documents that are one object with rows inside -> those rows, and where they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.errors import InputError
from rag_eval.inputs.schemas.fields import field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import listed
from rag_eval.inputs.schemas.paths import value_at
from rag_eval.inputs.schemas.tools import ANSWER_ASSERTIONS
from rag_eval.plumbing.spelling import counted

_Row: TypeAlias = dict[str, Any]

# Key of the rows in a document -> keys; a row of this kind of document has one of them.
_ROW_LISTS: Final = {
    "samples": ("input",),  # Inspect
    "examples": ("query",),  # LlamaIndex
    "predictions": ("response",),  # LlamaIndex
    "results": ("query",),  # RAGChecker
    "testCases": ("input",),  # deepeval
}
_TELLING: Final = frozenset({"question", "answer"})
_LOOKED_AT: Final = 50
_MOST_COLUMNS: Final = 1000
_MAX_DEPTH: Final = 3


class DocumentRows(NamedTuple):
    """Rows that were found in a document; ``place`` says where: ``in "data"``."""

    rows: list[_Row]
    place: str

    def __str__(self) -> str:
        return f"rows: {len(self.rows):,} {self.place}"


def rows_of_document(document: object) -> DocumentRows | None:
    """The rows inside a JSON document that is one object, or None when it holds none.

    Known are results of promptfoo and RAGChecker, logs of Inspect, datasets and predictions of
    LlamaIndex, test runs of deepeval, and the inputs and reports of Haystack's evaluations. Rows of
    promptfoo get ``expected``: the values of those assertions that say what the answer should be.

    Of other documents the one list of objects is taken, columns of equal length, what pandas writes
    (by columns, by index, split), objects by their names, or the object itself when it is a sample.

    Raises
    ------
    InputError
        For columns that differ in length, and for several lists that could be the rows.
    """
    if not isinstance(document, dict):
        return None
    return _known(document) or _table(document, "") or _only_list(document)


def _known(document: _Row) -> DocumentRows | None:
    results = document.get("results")
    if isinstance(results, dict) and (rows := _objects(results.get("results"))) is not None:
        return DocumentRows([_with_expected(row) for row in rows], 'in "results.results"')
    for key, telling in _ROW_LISTS.items():
        found = _objects(document.get(key))
        if found and any(name in row for row in found for name in telling):
            return DocumentRows(found, f'in "{key}"')
    for place, columns in ("", document), ("inputs", document.get("inputs")):
        if isinstance(columns, dict) and isinstance(columns.get("questions"), list):
            return _rows_of_columns(columns, place)
    return None


# ------------------------------------------------------------------------------- other documents


def _table(document: _Row, place: str) -> DocumentRows | None:
    """The rows of an object whose members are columns, or rows by their names."""
    found = _fields_of([dict.fromkeys(document)]) if len(document) <= _MOST_COLUMNS else {}
    texts = [document.get(path) for name, path in found.items() if name in _TELLING]
    kinds = set(map(type, texts))
    n_lists = sum(isinstance(value, list) for value in document.values())
    if kinds == {list} and n_lists > 1:
        return _rows_of_columns(document, place)
    if kinds == {dict} and (rows := _rows_by_index(document, place)) is not None:
        return rows
    names: Any = document.get("columns")
    cells: Any = document.get("data")
    if _is_split(names, cells):
        split = [dict(zip(names, row, strict=True)) for row in cells]
        return DocumentRows(split, _from(counted(len(names), "column"), place))
    if not place and kinds == {str} and len(texts) == len(_TELLING):
        return DocumentRows([document], "(the object itself)")
    return _rows_by_name(document, place)


def _is_split(names: Any, cells: Any) -> bool:
    return (
        isinstance(names, list)
        and isinstance(cells, list)
        and all(isinstance(name, str) for name in names)
        and all(isinstance(row, list) and len(row) == len(names) for row in cells)
        and not _TELLING.isdisjoint(_fields_of([dict.fromkeys(names)]))
    )


def _rows_by_index(columns: _Row, place: str) -> DocumentRows | None:
    """``{"question": {"0": …, "1": …}, …}`` -> rows."""
    lists = [column for column in columns.values() if isinstance(column, dict)]
    if not 1 < len(lists) == len(columns) or any(
        column.keys() != lists[0].keys() for column in lists
    ):
        return None
    rows = [{name: columns[name][key] for name in columns} for key in lists[0]]
    return DocumentRows(rows, _from(counted(len(columns), "column"), place))


def _rows_by_name(document: _Row, place: str) -> DocumentRows | None:
    """``{"q-1": {"question": …}, …}`` -> rows, with their names as ids where they have none."""
    rows = list(document.values())
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    found = _fields_of(rows)
    texts = [path for name, path in found.items() if name in _TELLING]
    if not any(isinstance(row.get(path), str) for row in rows[:_LOOKED_AT] for path in texts):
        return None
    if "id" not in found and list(document) != [str(number) for number in range(len(rows))]:
        rows = [{"id": name, **row} for name, row in document.items()]
    return DocumentRows(rows, _from("objects by their names", place))


def _from(what: str, place: str) -> str:
    return f"from {what}" + (f' in "{place}"' if place else "")


def _only_list(document: _Row) -> DocumentRows | None:
    every = list(_inside(document, "", 1))
    telling = [one for one in every if not _TELLING.isdisjoint(_fields_of(one.rows))]
    found = telling or every
    if len(found) > 1:
        places = listed(one.place.removeprefix("in ") for one in found)
        raise InputError(
            f"holds several lists of objects: {places}. Save the list of samples as a file of its "
            "own"
        )
    return found[0] if found else None


def _inside(document: _Row, prefix: str, depth: int) -> Iterator[DocumentRows]:
    for key, value in document.items():
        place = f"{prefix}{key}"
        if rows := _objects(value):
            yield DocumentRows(rows, f'in "{place}"')
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            found = _table(value, place)
            yield from [found] if found is not None else _inside(value, f"{place}.", depth + 1)


def _fields_of(rows: Iterable[_Row]) -> dict[str, str]:
    """Our fields among rows that may be samples, with their paths."""
    paths = paths_of_rows(list(rows)[:_LOOKED_AT])
    try:
        return dict(field_map(paths).paths)
    except InputError:  # of two tools at once: samples all the same
        return {name: name for name in _TELLING}


def _objects(value: object) -> list[_Row] | None:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return None


def _with_expected(row: _Row) -> _Row:
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


def _rows_of_columns(columns: _Row, place: str) -> DocumentRows:
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    first = "questions" if "questions" in lists else next(iter(lists))
    n_rows = len(lists[first])
    for name, values in lists.items():
        if len(values) != n_rows:
            raise InputError(
                f"{first} holds {n_rows} values and {name} {len(values)}; each column must have "
                "one value per row"
            )
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return DocumentRows(rows, _from(counted(len(lists), "column"), place))
