"""The columns of a source -> where our fields are among them.

A field is found by the first of these that finds it: what the caller says, its own name, the schema
of a known tool that fits the columns best, a name that is common for it, the shape of chat turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.schemas.chats import LISTS, turn_members
from rag_eval.inputs.schemas.common_names import (
    CLAIMS,
    Fit,
    ambiguous,
    completed,
    hold_texts,
    with_synonyms,
)
from rag_eval.inputs.schemas.contexts import TEXT_PATHS
from rag_eval.inputs.schemas.maps import FIELDS, FieldMap, FirstRows, listed, spellings
from rag_eval.inputs.schemas.paths import EACH, listed_path, paths_in_cells, paths_of_rows, steps_of
from rag_eval.inputs.schemas.synonyms import may_hold_contexts, meaning_of
from rag_eval.inputs.schemas.tools import OBJECTS, SCHEMA_NAMES, SHAPES, Columns, known_paths

__all__ = [
    "SCHEMA_NAMES",
    "FieldMap",
    "FirstRows",
    "column_map",
    "field_map",
    "paths_of_rows",
]

_NATIVE: Final = "native"
_CUSTOM: Final = "custom"

_FIELD_OF: Final = {spelling: name for name in FIELDS for spelling in spellings(name)}


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
        found = completed(_recognised(there, given), there, given, first_rows)
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
        or (may_hold_contexts(name) and hold_texts(name, paths))
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


def _named(schema: str, columns: Columns, given: Mapping[str, str]) -> Fit:
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
            f"schema {schema!r} needs {listed(known_paths(schema, *CLAIMS), ' or ')}; "
            f"found: {listed(columns)}"
        )
    return fit


def _recognised(columns: Columns, given: Mapping[str, str]) -> Fit:
    native = _native_fit(columns, given)
    found = [_best_fit(schema, columns, given) for schema in SCHEMA_NAMES if schema != _NATIVE]
    fits = [fit for fit in found if fit is not None and fit.rank() > native.rank()]
    texts = native.texts()
    if all(name in texts for name in (*CLAIMS, "contexts")):
        # A sample as we know it; other columns may add to it, and do not turn it into another.
        fits = [fit for fit in fits if texts.items() <= fit.texts().items()]
    most = max((fit.rank() for fit in fits), default=None)
    fits = [fit for fit in fits if fit.rank() == most]
    if not fits:
        return native
    if any(_reads_another_answer(fit, texts) for fit in fits):
        fits.insert(0, native)  # two answers, and who knows which of them is to be scored
    elif len(fits) > 1 and not any(path in columns.paths for fit in fits for path in fit.others):
        # What one tool calls contexts is a ground truth where other columns hold the contexts.
        n_fields = [len(with_synonyms(fit, columns, given)) for fit in fits]
        fits = [fit for fit, n in zip(fits, n_fields, strict=True) if n == max(n_fields)]
    _check_agreed(fits)
    return max(fits, key=lambda fit: fit.n_own)  # of equals the first


def _reads_another_answer(fit: Fit, texts: Mapping[str, str]) -> bool:
    """Whether a column named ``answer`` is not the answer, though the fit has no better question.

    A tool that has the question under a name of its own may well call its ground truth so.
    """
    theirs = fit.texts()
    return (
        "answer" in texts
        and ("question" in texts or "question" not in theirs)
        and not texts.items() <= theirs.items()
    )


def _check_agreed(fits: list[Fit]) -> None:
    readings: list[Fit] = []
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
        raise ambiguous(name, [own[name] for own in differing])
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
) -> Fit | None:
    """The form that has most; only with a question or an answer, found or in ``claims``."""
    fits = []
    for shape in SHAPES[schema]:
        found = shape.found(columns, given)
        if any(name in found or name in claims for name in CLAIMS):
            paths = _with_native(found, columns, given)
            fits.append(Fit(schema, paths, len(found), bool(shape.marker), shape.others))
    return max(fits, key=Fit.rank, default=None)  # of equals the first


def _native_fit(columns: Columns, given: Collection[str]) -> Fit:
    return Fit(_NATIVE, _with_native({}, columns, given))


def _with_native(found: dict[str, str], columns: Columns, given: Collection[str]) -> dict[str, str]:
    """The fields with those that a schema does not have but the columns do, under our names."""
    paths = dict(found)
    for spelling, name in _FIELD_OF.items():
        if spelling in columns.paths and spelling not in found.values() and name not in given:
            paths.setdefault(name, spelling)
    return {name: paths[name] for name in FIELDS if name in paths}
