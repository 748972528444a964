"""The columns of a source -> where our fields are among them.

A field is found by the first of these that finds it: what the caller says, its own name, the schema
of a known tool that fits the columns best, a name that is common for it, the shape of chat turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.chats import LISTS, chat_paths, turn_members
from rag_eval.inputs.schemas.contexts import TEXT_PATHS, context_texts
from rag_eval.inputs.schemas.maps import FIELDS, FieldMap, FirstRows, shown_name, spellings
from rag_eval.inputs.schemas.paths import (
    EACH,
    listed_path,
    paths_in_cells,
    paths_of_rows,
    steps_of,
    value_at,
)
from rag_eval.inputs.schemas.synonyms import LIKELY, SURE, Meaning, may_hold_contexts, meaning_of
from rag_eval.inputs.schemas.tools import OBJECTS, SCHEMA_NAMES, SHAPES, Columns, known_paths

__all__ = [
    "SCHEMA_NAMES",
    "FieldMap",
    "FirstRows",
    "column_map",
    "field_map",
    "listed",
    "paths_of_rows",
    "split_gold",
]

_NATIVE: Final = "native"
_CUSTOM: Final = "custom"
_CLAIMS: Final = ("question", "answer")  # a schema without either of them is not there
_SHOWN: Final = 20

_FIELD_OF: Final = {spelling: name for name in FIELDS for spelling in spellings(name)}
# Where an object that stands in place of a text has it.
_TEXT_MEMBERS: Final = ("text", "content", "answer", "output", "response", "value")


def _no_rows(paths: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    return ()


def column_map(
    columns: Collection[str],
    *,
    schema: str | None = None,
    mapping: Mapping[str, str] | None = None,
    first_rows: FirstRows = _no_rows,
) -> FieldMap:
    """As :func:`field_map`, for a table, where every path is that of one column.

    Where contexts are objects, the path is that of their member with the text: a row would show
    which it is, a column has to be named.
    """
    holders = {path[:end] for path in columns if (end := path.rfind(EACH)) > 0}
    heads = {path.partition(".")[0] for path in columns}
    holders |= {head for head in heads if (said := meaning_of(head)) and said.field == "contexts"}
    every = [*columns, *(name for name in holders if name not in columns and EACH not in name)]
    found = field_map(every, schema=schema, mapping=mapping, first_rows=first_rows)
    contexts = found.paths.get("contexts")
    if contexts in holders and contexts not in columns:
        for path in (
            f"{contexts}{dot}{member}" for member in TEXT_PATHS for dot in (f"{EACH}.", ".")
        ):
            if path in columns:
                return FieldMap(found.schema, {**found.paths, "contexts": path}, found.unused)
    return found


def field_map(
    columns: Collection[str],
    *,
    schema: str | None = None,
    mapping: Mapping[str, str] | None = None,
    first_rows: FirstRows = _no_rows,
) -> FieldMap:
    """Where our fields are in a source with these columns.

    Parameters
    ----------
    columns : collection of str
        Paths that are there: top-level names, ``inputs.question`` for members of objects,
        ``docs[].text`` for members of objects in lists. See :func:`paths_of_rows`.
    schema : str, optional
        One of :data:`SCHEMA_NAMES`; fields are then looked for where it has them and under our
        names, nowhere else. By default the one that finds most of question, answer, contexts and
        ground truth, and what it does not find is looked for under common names. Where columns
        named ``question``, ``answer`` and ``contexts`` are there, they are never read as anything
        else.
    mapping : mapping, optional
        Native field -> path, for fields that are elsewhere. A path may select items of a list:
        ``input[-1].text``, ``messages[role=user][-1].content``.
    first_rows : callable, optional
        Gives rows whose values may decide between columns, and tell the roles of chat turns.

    Raises
    ------
    InputError
        For an unknown schema, field or path, and for a schema that does not fit the columns. Also
        when several columns may be a field and nothing decides between them.
    """
    columns = [*columns, *_paths_in_cells(columns, mapping or {}, first_rows)]
    given = _checked_mapping(mapping or {}, columns)
    # A path that was given away is no longer there for another field.
    there = Columns(path for path in columns if path not in given.values())
    if schema is not None:
        found = _named(schema, there, given)
    else:
        found = _completed(_recognised(there, given), there, given, first_rows)
    name = _CUSTOM if given else found.schema
    paths = {**found.paths, **given}
    paths = {name: paths[name] for name in FIELDS if name in paths}
    return FieldMap(name, paths, _unused(columns, paths.values()))


def _paths_in_cells(
    columns: Collection[str], mapping: Mapping[str, str], first_rows: FirstRows
) -> list[str]:
    """The paths of chat turns, of known objects and of what the caller maps in cells of texts."""
    mapped = {str(step) for path in mapping.values() for step in steps_of(path)[:1]}
    wanted = {*LISTS, *OBJECTS, *mapped}
    heads = {str(step) for path in columns for step in steps_of(path)[:1] if step != path}
    names = [
        name
        for name in columns
        if (name in wanted or may_hold_contexts(name)) and name not in heads
    ]
    found = paths_in_cells(names, first_rows(names)) if names else {}
    return [
        path
        for name, paths in found.items()
        if name in mapped
        or (name in LISTS and turn_members(name, paths))
        or not OBJECTS.get(name, frozenset()).isdisjoint(paths)
        or (may_hold_contexts(name) and _hold_texts(name, paths))
        for path in paths
    ]


def _unused(columns: Collection[str], used: Iterable[str]) -> tuple[str, ...]:
    """The columns of their own that no field is in."""
    read = set(used)
    heads = {step for path in read for step in steps_of(path)[:1]}
    return tuple(
        path
        for path in columns
        if path not in read
        and path not in heads
        and path not in _FIELD_OF
        and (
            ("." not in path and EACH not in path)
            or {*heads, *columns}.isdisjoint(steps_of(path)[:1])
        )
    )


def _checked_mapping(mapping: Mapping[str, str], columns: Collection[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, path in mapping.items():
        native = _FIELD_OF.get(name)
        if native is None:
            raise InputError(
                f"mapping {name}={path}: unknown field {name!r}{suggestion(name, FIELDS)} (fields: "
                f"{listed(FIELDS)})"
            )
        if given.setdefault(native, path) != path:
            raise InputError(f"{native} is mapped twice, to {given[native]!r} and to {path!r}")
        if path not in columns:
            listed_as = listed_path(path)
            if listed_as not in columns and listed_as.removesuffix(EACH) not in columns:
                raise InputError(
                    f"mapping {native}={path}: the samples have no field {listed_as!r}"
                    f"{suggestion(listed_as, columns)} (fields: {listed(columns)})"
                )
    return given


# ------------------------------------------------------------------------------ schemas of tools


class _Fit(NamedTuple):
    """A schema on the columns at hand."""

    schema: str
    paths: dict[str, str]
    n_own: int = 0  # fields that it names itself
    marked: bool = False
    others: tuple[str, ...] = ()

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
            f"(known schemas: {listed(SCHEMA_NAMES)})"
        )
    if schema == _NATIVE:
        return _native_fit(columns, given)
    fit = _best_fit(schema, columns, given, claims=given)
    if fit is None:
        raise InputError(
            f"schema {schema!r} needs {listed(known_paths(schema, *_CLAIMS), ' or ')}; "
            f"found: {listed(columns)}"
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
    elif len(fits) > 1 and not any(path in columns.paths for fit in fits for path in fit.others):
        # What one tool calls contexts is a ground truth where other columns hold the contexts.
        n_fields = [len(_with_synonyms(fit, columns, given)) for fit in fits]
        fits = [fit for fit, n in zip(fits, n_fields, strict=True) if n == max(n_fields)]
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
    differing = [
        {k: path for k, path in fit.texts().items() if (k, path) not in agreed} for fit in readings
    ]
    if all(len(own) == 1 for own in differing) and len(set.union(*map(set, differing))) == 1:
        ((name, _),) = differing[0].items()
        raise _ambiguous(name, [own[name] for own in differing])
    shown = [
        f"{fit.schema} ({listed(f'{name}={path}' for name, path in own.items())})"
        for fit, own in zip(readings, differing, strict=True)
    ]
    raise InputError(
        f"columns can be read in {len(shown)} ways: {', '.join(shown)}; choose one with "
        + " or ".join(f"--schema {fit.schema}" for fit in readings)
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
            fits.append(_Fit(schema, paths, len(found), bool(shape.marker), shape.others))
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


# ---------------------------------------------------------------------------------- common names


def _completed(
    fit: _Fit, columns: Columns, given: Mapping[str, str], first_rows: FirstRows
) -> _Fit:
    """The fit with the fields that only common names, or the shape of their values, tell."""
    fit = _without_guesses(fit, columns)
    paths = _with_synonyms(fit, columns, given)
    for name, candidates in _named_like(fit, columns, given).items():
        if len(candidates) > 1:
            rows = first_rows(candidates)
            fitting = [path for path in candidates if not rows or _may_be(name, path, rows)]
            if len(fitting) > 1:
                raise _ambiguous(name, fitting)
            paths.update((name, path) for path in fitting)
    _check_one_answer(fit, paths, columns)
    for name, path in chat_paths(columns, first_rows).items():
        if name not in paths and name not in given:
            paths[name] = path
    return fit._replace(paths=paths)


def _without_guesses(fit: _Fit, columns: Columns) -> _Fit:
    """The fit without columns that only often are the field, where others may be it as well."""
    doubted = {
        meaning.field
        for column in columns
        if column not in fit.paths.values()
        and column not in fit.others
        and (meaning := meaning_of(column)) is not None
    }
    kept = {}
    for name, path in fit.paths.items():
        meaning = meaning_of(path)
        if name not in doubted or meaning is None or meaning.rank <= SURE or meaning.field != name:
            kept[name] = path
    return fit._replace(paths=kept)


def _with_synonyms(fit: _Fit, columns: Columns, given: Mapping[str, str]) -> dict[str, str]:
    """The fields of a fit, with those that have a common name exactly once."""
    paths = dict(fit.paths)
    for name, candidates in _named_like(fit, columns, given).items():
        if len(candidates) == 1:
            paths[name] = candidates[0]
    return paths


def _named_like(fit: _Fit, columns: Columns, given: Mapping[str, str]) -> dict[str, list[str]]:
    """For fields that the fit lacks, the columns whose names say so most surely."""
    found: dict[str, tuple[int, list[str]]] = {}
    taken = {*fit.paths.values(), *fit.others}
    for column in columns:
        meaning = None if column in taken else _meaning_of(column, columns)
        if meaning is None or meaning.field in fit.paths or meaning.field in given:
            continue
        path = _text_path(meaning.field, column, columns)
        if path is None or path in taken:
            continue
        rank, candidates = found.get(meaning.field, (meaning.rank, []))
        if meaning.rank < rank:
            candidates = []
        if meaning.rank <= rank:
            found[meaning.field] = (meaning.rank, [*candidates, path])
    return {name: candidates for name, (_, candidates) in found.items()}


def _meaning_of(column: str, columns: Columns) -> Meaning | None:
    """What the name of a column says, or what it says for the objects that the column holds."""
    if may_hold_contexts(column) and _hold_texts(column, columns.paths):
        return Meaning("contexts", LIKELY)
    return meaning_of(column)


def _hold_texts(column: str, paths: Collection[str]) -> bool:
    """Whether the objects in a list have a text where documents have it."""
    return any(f"{column}{EACH}.{member}" in paths for member in TEXT_PATHS)


def _text_path(name: str, column: str, columns: Columns) -> str | None:
    """Where in a column the text of a field is; None where it holds objects without one."""
    if columns.hold(column, name):
        return column
    if name == "contexts":
        members = (f"{column}.{member}" for member in TEXT_PATHS)
        return column if any(path in columns.paths for path in members) else None
    for member in _TEXT_MEMBERS:
        path = f"{column}.{member}"
        if columns.hold(path, name):
            return path
        listed_as = f"{column}{EACH}.{member}"
        # Several acceptable answers, written as objects.
        if name == "ground_truth" and listed_as in columns.paths:
            return listed_as
        if name == "answer" and listed_as in columns.paths:
            return f"{column}[0].{member}"
    return None


def _may_be(name: str, path: str, rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether some row holds there what the field can be."""
    steps = steps_of(path)
    for row in rows:
        value = row[path] if path in row else value_at(row, steps)
        if name == "contexts":
            texts = context_texts(value)
            if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
                return True
        elif isinstance(value, str):
            if value:
                return True
        elif name == "ground_truth" and isinstance(value, list) and value:
            return True
    return False


def _check_one_answer(fit: _Fit, paths: Mapping[str, str], columns: Columns) -> None:
    """Raise an InputError where ``answer`` may be what should have been answered.

    Datasets of questions and answers get a column of what a model said: without a ground truth of
    another name, ``answer`` would be scored as if the model had said it.
    """
    if paths.get("answer") != "answer" or "ground_truth" in paths or "contexts" in fit.paths:
        return
    said = [
        column
        for column in columns
        if column not in paths.values()
        and (meaning := meaning_of(column)) is not None
        and meaning.field == "answer"
    ]
    if said:
        raise _ambiguous("answer", ["answer", *said])


def _ambiguous(name: str, paths: Sequence[str]) -> InputError:
    shown = list(map(shown_name, paths))
    return InputError(
        f"{len(paths)} columns may be {name.replace('_', ' ')}: {listed(shown)}; "
        f"choose one with --map {name}={shown[0]} or --map {name}={shown[1]}"
    )


def listed(names: Iterable[str], separator: str = ", ") -> str:
    """Names for a message, of many the first."""
    every = list(names)
    more = len(every) - _SHOWN
    shown = separator.join(map(shown_name, every[:_SHOWN]))
    return (shown + (f" and {more} more" if more > 0 else "")) or "nothing"


def split_gold(value: Any, separator: str) -> Any:
    """A text of several ground truths -> the list of them.

    Parameters
    ----------
    value : str or other
        Anything but a text is returned as it is.
    separator : str
        What is between two ground truths, such as ``|``; not empty.

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
