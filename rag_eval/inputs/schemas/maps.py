"""Where our fields are in the rows of a source.  In: its rows.  Out: rows under our names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.contexts import (
    TEXT_PATHS,
    context_texts,
    said_text,
    shape_of,
    truth_texts,
)
from rag_eval.inputs.schemas.paths import Steps, steps_of, value_at

FIELDS: Final = (*TEXT_FIELDS, "id", "language", "metadata")

_DROPPED: Final = ""
_LONGEST_SHOWN: Final = 60
_MOST_SHOWN: Final = 20
# A column of objects, and their member with the text.
_OF_OBJECTS: Final = re.compile(
    rf"([^\[\]]+)\[\]\.(?:{'|'.join(map(re.escape, TEXT_PATHS))})"
    r"|([^.\[\]]+)\.(?:text|content|page_content)"
)


def spellings(name: str) -> tuple[str, ...]:
    """The names under which rows may have a field."""
    return ("ground_truth", "groundTruth") if name == "ground_truth" else (name,)


#: Paths -> the first rows of a source with what is there, for when values have to decide.
FirstRows: TypeAlias = "Callable[[Sequence[str]], Sequence[Mapping[str, Any]]]"


class _Nested(NamedTuple):
    """A field that is not simply a column under another name."""

    field: str
    path: str
    steps: Steps


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Where a source keeps our fields.

    Attributes
    ----------
    schema : str
        One of :data:`SCHEMA_NAMES`, or ``custom`` when fields were mapped by hand.
    paths : mapping
        Native field -> path in the source, for the fields that are there. ``a.b`` is a member of
        an object, ``a[]`` each item of a list, ``a[].b`` a member of each item. A key of a row
        that is spelled like the whole path goes before the members that the path names.
    unused : tuple of str
        Columns that are not our fields.
    """

    schema: str
    paths: Mapping[str, str]
    unused: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _name_of: dict[str, str] = field(init=False, repr=False, compare=False)
    _nested: tuple[_Nested, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        moved = [(name, path) for name, path in self.paths.items() if path not in spellings(name)]
        # Names that now mean another column must not be read as if they were that field: where
        # the `result` of a chain is the answer, `answer` is what it should have been.
        name_of = {spelling: _DROPPED for name, _ in moved for spelling in spellings(name)}
        # A column that is one field under its own name and another one as well.
        shared = {path for name, path in self.paths.items() if path in spellings(name)}
        nested = []
        for name, path in moved:
            steps = steps_of(path)
            if len(steps) > 1 or path in shared or name_of.get(path, _DROPPED) != _DROPPED:
                nested.append(_Nested(name, path, steps))
            else:
                name_of[path] = name
        # A whole path that is a key is taken there.
        name_of |= {
            path: _DROPPED for _, path, _ in nested if path not in name_of and path not in shared
        }
        object.__setattr__(self, "_name_of", name_of)
        object.__setattr__(self, "_nested", tuple(nested))

    @property
    def is_native(self) -> bool:
        """Whether rows can be used as they are."""
        return not self._name_of

    @property
    def renamed(self) -> dict[str, str]:
        """Our name of each path that :meth:`row` renames."""
        moved = self.paths.items()
        return {path: name for name, path in moved if path not in spellings(name)}

    @property
    def keys(self) -> dict[str, tuple[str, ...]] | None:
        """The keys of rows that each field may be under; None if one is within other values."""
        if self._nested:
            return None
        keys = {}
        for name in FIELDS:
            path = self.paths.get(name)
            known = spellings(name)
            if path is None or path in known:
                keys[name] = tuple(key for key in known if key not in self._name_of)
            else:
                keys[name] = (path,)
        return keys

    def row(self, source: dict[str, Any]) -> dict[str, Any]:
        """A row of the source under native names.

        Parameters
        ----------
        source : dict
            Not modified; returned itself when the map is native and contexts are a list of texts.

        Returns
        -------
        dict
            The mapped fields, without those that are missing or null, and the other keys of the
            row as they are. A key that has the name of a field, where the field is mapped to
            another place, is left out. Contexts become a list of texts where they can be understood
            (see :func:`~rag_eval.inputs.schemas.contexts.context_texts`); any other value goes
            through unchanged, whatever its type.
        """
        if not self._name_of:
            return with_texts(source)
        name_of = self._name_of.get
        row = {}
        for key, value in source.items():
            name = name_of(key)
            if name is None:
                row[key] = value
            elif name and value is not None:
                row[name] = value
        for name, path, steps in self._nested:
            value = source[path] if path in source else value_at(source, steps)
            if value is not None:
                row[name] = value
        return with_texts(row)

    def shapes(self, first_rows: FirstRows) -> dict[str, str]:
        """What is to say about the shape of contexts in rows of the source."""
        path = self.paths.get("contexts")
        if path is None:
            return {}
        steps = steps_of(path)
        for row in first_rows([path]):
            value = row[path] if path in row else value_at(row, steps)
            if value is not None:
                found = shape_of(value)
                return {"contexts": found} if found else {}
        return {}

    def described(self, shapes: Mapping[str, str] | None = None) -> str:
        """``question=user_input, contexts=retrieved_contexts (list in a string)``."""
        notes = dict(shapes or {})
        paths = {name: path for name, path in self.paths.items() if name in TEXT_FIELDS}
        holder = _OF_OBJECTS.fullmatch(paths.get("contexts", ""))
        if holder is not None:
            paths["contexts"], notes["contexts"] = holder[1] or holder[2], "objects with text"
        return ", ".join(
            f"{name.replace('_', ' ')}={shown_name(path)}"
            + (f" ({notes[name]})" if name in notes else "")
            for name, path in paths.items()
        )


class FoundFields(NamedTuple):
    """The fields of one source, as a reader is told.

    Attributes
    ----------
    source : str
        Its name.
    fields : FieldMap
    shapes : mapping
        Field -> what is to say about the shape of its values.
    names_all : bool
        Whether its columns are those of all rows; later lines of JSON may have others.
    """

    source: str
    fields: FieldMap
    shapes: Mapping[str, str]
    names_all: bool = True

    def __str__(self) -> str:
        return self.fields.described(self.shapes)


def with_texts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its contexts and ground truths as lists of texts, where they are written so.

    The row itself where nothing is to be done.
    """
    for name in ("question", "answer"):
        if type(row.get(name)) is list and (said := said_text(row[name])) is not row[name]:
            row = {**row, name: said}
    contexts = row.get("contexts")
    if contexts is not None:
        texts = context_texts(contexts)
        if texts is not contexts:
            row = {**row, "contexts": texts}
    for name in spellings("ground_truth"):
        truth = row.get(name)
        if truth is not None and (found := truth_texts(truth)) is not truth:
            row = {**row, name: found}
    return row


def shown_name(name: str) -> str:
    """The name of a column for a message: on one line, of a long one the beginning."""
    shown = name if name.isprintable() else repr(name)[1:-1]
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def listed(names: Iterable[str], separator: str = ", ") -> str:
    """Names for a message, of many the first."""
    every = list(names)
    more = len(every) - _MOST_SHOWN
    shown = separator.join(map(shown_name, every[:_MOST_SHOWN]))
    return (shown + (f" and {more} more" if more > 0 else "")) or "nothing"
