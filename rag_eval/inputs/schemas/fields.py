"""Rows as other tools write them -> rows with our field names.

In: the columns of a source, then its rows.  Out: where each field is, then the rows renamed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.schemas.tools import (
    EACH,
    FIELDS,
    SCHEMA_NAMES,
    SHAPES,
    TEXT_FIELDS,
    TEXT_PATHS,
    Columns,
    known_paths,
)

__all__ = [
    "SCHEMA_NAMES",
    "FieldMap",
    "field_map",
    "listed",
    "paths_of_rows",
    "split_gold",
]

_NATIVE: Final = "native"
_CUSTOM: Final = "custom"
_DROPPED: Final = ""
_CLAIMS: Final = ("question", "answer")  # a schema without either of them is not there
_MAX_DEPTH: Final = 4
_SHOWN: Final = 20

_Steps: TypeAlias = tuple[str, ...]


def _spellings(name: str) -> tuple[str, ...]:
    """The names under which rows may have a field."""
    return ("ground_truth", "groundTruth") if name == "ground_truth" else (name,)


_FIELD_OF: Final = {spelling: name for name in FIELDS for spelling in _spellings(name)}


class _Nested(NamedTuple):
    """A field that is not simply a column under another name."""

    field: str
    path: str
    steps: _Steps


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
    """

    schema: str
    paths: Mapping[str, str]
    _name_of: dict[str, str] = field(init=False, repr=False, compare=False)
    _nested: tuple[_Nested, ...] = field(init=False, repr=False, compare=False)
    _has_contexts: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        moved = [(name, path) for name, path in self.paths.items() if path not in _spellings(name)]
        # Names that now mean another column must not be read as if they were that field: where
        # the `result` of a chain is the answer, `answer` is what it should have been.
        name_of = {spelling: _DROPPED for name, _ in moved for spelling in _spellings(name)}
        # A column that is one field under its own name and another one as well.
        shared = {path for name, path in self.paths.items() if path in _spellings(name)}
        nested = []
        for name, path in moved:
            steps = _steps(path)
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
        object.__setattr__(self, "_has_contexts", any(name == "contexts" for name, _ in moved))

    @property
    def is_native(self) -> bool:
        """Whether rows can be used as they are."""
        return not self._name_of

    @property
    def renamed(self) -> dict[str, str]:
        """Our name of each path that :meth:`row` renames."""
        return {} if self.is_native else {path: name for name, path in self.paths.items()}

    @property
    def keys(self) -> dict[str, tuple[str, ...]] | None:
        """The keys of rows that each field may be under; None where one is within other values."""
        if self._nested:
            return None
        keys = {}
        for name in FIELDS:
            path = self.paths.get(name)
            spellings = _spellings(name)
            if path is None or path in spellings:
                keys[name] = tuple(key for key in spellings if key not in self._name_of)
            else:
                keys[name] = (path,)
        return keys

    def row(self, source: dict[str, Any]) -> dict[str, Any]:
        """A row of the source under native names.

        Parameters
        ----------
        source : dict
            Not modified; returned itself when the map is native.

        Returns
        -------
        dict
            The mapped fields, without those that are missing or null, and the other keys of the
            row as they are. A key that has the name of a field, where the field is mapped to
            another place, is left out. Contexts given as one text, or as objects that hold a text,
            become a list of texts; any other value goes through unchanged, whatever its type.
        """
        if not self._name_of:
            return source
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
        if self._has_contexts and "contexts" in row:
            row["contexts"] = _texts(row["contexts"])
        return row


def _steps(path: str) -> _Steps:
    """``docs[].text`` -> ``docs``, ``[]``, ``text``."""
    return tuple(step for step in path.replace(EACH, f".{EACH}.").split(".") if step)


def value_at(value: Any, steps: tuple[str, ...]) -> Any:
    """What is at the end of the steps; None where they lead nowhere."""
    for number, step in enumerate(steps):
        if step == EACH:
            if not isinstance(value, list):
                return value
            rest = steps[number + 1 :]
            return [value_at(item, rest) if isinstance(item, dict) else item for item in value]
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


_TEXT_STEPS: Final = tuple((path, _steps(path)) for path in TEXT_PATHS)


def _texts(contexts: Any) -> Any:
    """Contexts as a list of texts, as far as they can be understood."""
    if isinstance(contexts, str):
        return [contexts]
    if isinstance(contexts, list):
        for item in contexts:
            if isinstance(item, dict):
                return [_text_of(each) if isinstance(each, dict) else each for each in contexts]
    return contexts


def _text_of(document: dict[str, Any]) -> Any:
    for path, steps in _TEXT_STEPS:
        text = document[path] if path in document else value_at(document, steps)
        if isinstance(text, str):
            return text
    return document


def column_map(
    columns: Collection[str],
    *,
    schema: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> FieldMap:
    """As :func:`field_map`, for a table, of which every path is that of one column.

    Where contexts are objects, the path is that of their member with the text: a row would show
    which it is, a column has to be named.
    """
    lists = {path[:end] for path in columns if (end := path.rfind(EACH)) > 0}
    found = field_map([*columns, *(lists - set(columns))], schema=schema, mapping=mapping)
    contexts = found.paths.get("contexts")
    if contexts in lists and contexts not in columns:
        for member in TEXT_PATHS:
            if f"{contexts}{EACH}.{member}" in columns:
                paths = {**found.paths, "contexts": f"{contexts}{EACH}.{member}"}
                return FieldMap(found.schema, paths)
    return found


# ---------------------------------------------------------------------------------- recognition


def field_map(
    columns: Collection[str],
    *,
    schema: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> FieldMap:
    """Where our fields are in a source with these columns.

    Parameters
    ----------
    columns : collection of str
        Paths that are there: top-level names, ``inputs.question`` for members of objects,
        ``docs[].text`` for members of objects in lists. See :func:`paths_of_rows`.
    schema : str, optional
        One of :data:`SCHEMA_NAMES`. By default the one that finds most of question, answer,
        contexts and ground truth. Where columns named ``question``, ``answer`` and ``contexts`` are
        there, they are never read as anything else; where no schema fits, the map is the native
        one.
    mapping : mapping, optional
        Native field -> path, for fields that are elsewhere than the schema has them.

    Raises
    ------
    InputError
        For an unknown schema, field or path, and for a schema that does not fit the columns. Also
        when several fit equally well and disagree, or when one does that has another answer than
        the column ``answer``.
    """
    given = _checked_mapping(mapping or {}, columns)
    # A path that was given away is no longer there for another field.
    there = Columns(path for path in columns if path not in given.values())
    found = _recognised(there, given) if schema is None else _named(schema, there, given)
    if not given:
        return FieldMap(found.schema, found.paths)
    paths = found.paths | given
    return FieldMap(_CUSTOM, {name: paths[name] for name in FIELDS if name in paths})


def _checked_mapping(mapping: Mapping[str, str], columns: Collection[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, path in mapping.items():
        native = _FIELD_OF.get(name)
        if native is None:
            raise InputError(
                f"unknown field {name!r}{suggestion(name, FIELDS)} (fields are {listed(FIELDS)})"
            )
        if given.setdefault(native, path) != path:
            raise InputError(f"{native} is mapped twice, to {given[native]!r} and to {path!r}")
        if path not in columns and not (path.endswith(EACH) and path[:-2] in columns):
            raise InputError(
                f"{native}={path}: there is no {path!r}{suggestion(path, columns)} "
                f"(there is {listed(columns)})"
            )
    return given


class _Fit(NamedTuple):
    """A schema on the columns at hand."""

    schema: str
    paths: dict[str, str]
    n_own: int = 0  # fields that it names itself
    marked: bool = False

    def texts(self) -> dict[str, str]:
        """The paths that samples are scored by."""
        return {name: self.paths[name] for name in TEXT_FIELDS if name in self.paths}

    def rank(self) -> tuple[bool, int, bool]:
        """What decides between schemas."""
        texts = self.texts()
        return self.marked, len(texts), all(name in texts for name in _CLAIMS)


def _named(schema: str, columns: Columns, given: Mapping[str, str]) -> _Fit:
    if schema not in SHAPES:
        raise InputError(
            f"unknown schema {schema!r}{suggestion(schema, SCHEMA_NAMES)} "
            f"(known are {listed(SCHEMA_NAMES)})"
        )
    if schema == _NATIVE:
        return _native_fit(columns, given)
    fit = _best_fit(schema, columns, given, claims=given)
    if fit is None:
        raise InputError(
            f"schema {schema!r} wants {listed(known_paths(schema, *_CLAIMS), ' or ')}; "
            f"there is {listed(columns)}"
        )
    return fit


def _recognised(columns: Columns, given: Mapping[str, str]) -> _Fit:
    native = _native_fit(columns, given)
    found = [_best_fit(schema, columns, given) for schema in SCHEMA_NAMES if schema != _NATIVE]
    fits = [fit for fit in found if fit is not None and fit.rank() > native.rank()]
    texts = native.texts()
    if all(name in texts for name in (*_CLAIMS, "contexts")):
        # A sample as we know it; other columns may add to it, and do not turn it into another.
        fits = [fit for fit in fits if texts.items() <= fit.texts().items()]
    most = max((fit.rank() for fit in fits), default=None)
    fits = [fit for fit in fits if fit.rank() == most]
    if not fits:
        return native
    if all(name in texts for name in _CLAIMS) and any(
        not texts.items() <= fit.texts().items() for fit in fits
    ):
        fits.insert(0, native)  # two answers, and who knows which of them is to be scored
    _check_agreed(fits)
    return max(fits, key=lambda fit: fit.n_own)  # of equals the first


def _check_agreed(fits: list[_Fit]) -> None:
    readings: list[_Fit] = []
    for fit in fits:
        if all(fit.texts() != other.texts() for other in readings):
            readings.append(fit)
    if len(readings) < 2:
        return
    agreed = set.intersection(*(set(fit.texts().items()) for fit in readings))
    shown = []
    for fit in readings:
        own = [f"{name}={path}" for name, path in fit.texts().items() if (name, path) not in agreed]
        shown.append(f"{fit.schema} ({listed(own)})")
    raise InputError(
        f"columns fit several schemas: {', '.join(shown)}; name one with --schema NAME, "
        "or map the fields with --map FIELD=PATH"
    )


def _best_fit(
    schema: str, columns: Columns, given: Collection[str], claims: Collection[str] = ()
) -> _Fit | None:
    """The form that has most; only with a question or an answer, found or in ``claims``."""
    fits = []
    for shape in SHAPES[schema]:
        found = shape.found(columns, given)
        if any(name in found or name in claims for name in _CLAIMS):
            paths = _with_native(found, columns, given)
            fits.append(_Fit(schema, paths, len(found), bool(shape.marker)))
    return max(fits, key=_Fit.rank, default=None)  # of equals the first


def _native_fit(columns: Columns, given: Collection[str]) -> _Fit:
    return _Fit(_NATIVE, _with_native({}, columns, given))


def _with_native(found: dict[str, str], columns: Columns, given: Collection[str]) -> dict[str, str]:
    """The fields with those that a schema does not have but the columns do, under our names."""
    paths = dict(found)
    for spelling, name in _FIELD_OF.items():
        if spelling in columns.paths and spelling not in found.values() and name not in given:
            paths.setdefault(name, spelling)
    return {name: paths[name] for name in FIELDS if name in paths}


def listed(names: Iterable[str], separator: str = ", ") -> str:
    """Names for a message, of many the first."""
    every = list(names)
    more = len(every) - _SHOWN
    shown = separator.join(every[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return shown or "nothing"


# ----------------------------------------------------------------------------------------- rows


def paths_of_rows(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The paths of all rows together, as :func:`field_map` takes them.

    Each path comes once, in the order of first appearance, an object before its members. Members
    of objects in a list are ``name[].member``; no path has more than four names.
    """
    found: dict[str, None] = {}
    for row in rows:
        _add_paths(row, "", 1, found)
    return list(found)


def _add_paths(item: dict[str, Any], prefix: str, depth: int, found: dict[str, None]) -> None:
    for key, value in item.items():
        path = f"{prefix}{key}"
        found[path] = None
        if depth == _MAX_DEPTH:
            continue
        if isinstance(value, dict):
            _add_paths(value, f"{path}.", depth + 1, found)
        elif isinstance(value, list):
            for member in value:
                if isinstance(member, dict):
                    _add_paths(member, f"{path}{EACH}.", depth + 1, found)


def split_gold(value: Any, separator: str) -> Any:
    """A text of several ground truths -> the list of them.

    Parameters
    ----------
    value : str or other
        Anything but a text is returned as it is.
    separator : str
        What stands between two ground truths, such as ``|``; not empty.

    Returns
    -------
    list of str, str or other
        The parts without surrounding space, empty ones left out; the text itself, so stripped,
        when there are not two of them.
    """
    if not separator:
        raise InputError("the separator of ground truths must not be empty")
    if not isinstance(value, str):
        return value
    parts = [part for piece in value.split(separator) if (part := piece.strip())]
    return parts if len(parts) > 1 else "".join(parts)
