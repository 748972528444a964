"""Samples of any kind -> the fields that scorers read, under their snake_case names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import SampleError, SampleLike
from rag_eval.inputs.schemas.contexts import context_texts, truth_texts
from rag_eval.inputs.schemas.maps import FIELDS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import EvalSample


def fields_of(sample: SampleLike, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a sample, without those that it lacks.

    Either spelling counts, and what the sample itself lacks is looked for in its metadata.

    Raises
    ------
    InputError
        For a text of another type, contexts that are no list of texts, and two spellings of a field
        with two values.
    """
    own: Mapping[str, Any] = _as_mapping(sample)
    metadata = own.get("metadata")
    sources = (own, metadata) if isinstance(metadata, Mapping) else (own,)
    found = {}
    for name in names:
        value = _first(sources, name)
        check = _CHECKS.get(name)
        if value is not None and check is not None:
            value = check(value, name)
        if value is not None:
            found[name] = value
    return found


def block_fields(block: SampleBlock, names: Sequence[str]) -> list[dict[str, Any]]:
    """The same for every row of a block; columns that are not our fields count as well."""
    read = {name: block.values(name) for name in columns_named(names)}
    columns = {name: values for name, values in read.items() if any(v is not None for v in values)}
    rows: list[dict[str, Any]] = []
    for index in range(len(block)):
        sample = _as_mapping(block.sample(index))
        # Rows of a table come without the columns that are not our fields.
        beside = {
            name: values[index]
            for name, values in columns.items()
            if values[index] is not None and name not in sample
        }
        try:
            rows.append(fields_of({**sample, **beside} if beside else sample, names))
        except InputError as error:
            raise SampleError(block.name(index), str(error)) from None
    return rows


def plain_columns(block: SampleBlock, names: Sequence[str]) -> dict[str, list[Any]] | None:
    """The same by field, for plain dicts; None if rows have to be read one by one.

    A third of the time that row by row takes.
    """
    rows = block.plain_rows(_spellings(names))
    if rows is None:
        return None
    columns: dict[str, list[Any]] = {}
    for name in names:
        try:
            values = _plain_column(rows, name)
        except InputError:
            return None  # row by row, its row will be known
        if values is None:
            return None
        columns[name] = values
    return columns


def sample_with(block: SampleBlock, index: int, names: Sequence[str]) -> SampleLike:
    """A row with some fields that may be columns beside it, under their camelCase names."""
    sample = block.sample(index)
    others = [name for name in names if name not in FIELDS]
    if not others:
        return sample
    try:
        found = block_fields(block.taken([index]), others)[0]
    except SampleError as error:
        raise SampleError(block.name(index), error.fault) from None
    beside = {camel_case(name): value for name, value in found.items()}
    return {**_as_mapping(sample), **beside} if beside else sample


def columns_named(names: Iterable[str]) -> list[str]:
    """Columns of a table that may hold some fields, and the one whose members may."""
    spelled = _spellings(names)
    return [*spelled, "metadata"] if spelled else []


def _spellings(names: Iterable[str]) -> list[str]:
    """Names of columns that are not a field of every block, in either spelling."""
    others = [name for name in names if name not in FIELDS]
    return list(dict.fromkeys(spelling for name in others for spelling in (name, camel_case(name))))


def _as_mapping(sample: SampleLike) -> Mapping[str, Any]:
    if isinstance(sample, EvalSample):
        return {name: getattr(sample, name) for name in EvalSample.__slots__}
    return sample


def _first(sources: Iterable[Mapping[str, Any]], name: str) -> Any:
    camel = camel_case(name)
    for source in sources:
        value = source.get(name)
        if camel != name:
            other = source.get(camel)
            if value is not None and other is not None and value != other:
                raise InputError(f"{name} and {camel} are both given, with different values")
            value = other if value is None else value
        if value is not None:
            return value
    return None


def _plain_column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    """A field of some rows; None if one of them has it in both spellings."""
    values = [row.get(name) for row in rows]
    camel = camel_case(name)
    if camel != name:
        others = [row.get(camel) for row in rows]
        if set(map(type, others)) != {NoneType}:
            if any(a is not None and b is not None for a, b in zip(values, others, strict=True)):
                return None
            values = [b if a is None else a for a, b in zip(values, others, strict=True)]
    if NoneType in set(map(type, values)):
        metadata = [row.get("metadata") for row in rows]
        if set(map(type, metadata)) != {NoneType}:
            values = [
                _first((beside,), name) if value is None and isinstance(beside, Mapping) else value
                for value, beside in zip(values, metadata, strict=True)
            ]
    check = _CHECKS.get(name)
    return values if check is None else [v if v is None else check(v, name) for v in values]


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, got {type(value).__name__}")
    return value


def _contexts(value: object, name: str) -> list[str]:
    return _texts(context_texts(value), name)


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{name} must be a list of strings, got {type(value).__name__}")
    for place, text in enumerate(value):
        _text(text, f"{name}[{place}]")
    return list(value)


def _truth(value: object, name: str) -> str | list[str] | None:
    """The ground truth; the empty text means that there is none."""
    value = truth_texts(value)
    if isinstance(value, str):
        return value or None
    truths = [text for text in _texts(value, name) if text]
    return truths[0] if len(truths) == 1 else truths or None


def _document(value: object, name: str) -> object:
    """A list or a mapping; cells of CSV and of many tables hold them as JSON."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    if not text.startswith(("[", "{")):
        raise InputError(f'{name} must be a list or a mapping, or its JSON text, got "{text:.40}"')
    from rag_eval.plumbing.strict_json import JsonFault, parse_json

    try:
        return parse_json(text)
    except JsonFault as fault:
        raise InputError(f"{name} cannot be parsed: {fault.reason}") from None


def _grades(value: object, name: str) -> object:
    """Relevant ids; a mapping as a struct of Arrow has nulls for the keys of other rows."""
    found = _document(value, name)
    if isinstance(found, Mapping):
        return {document: grade for document, grade in found.items() if grade is not None}
    return found


def _amount(value: object, name: str) -> object:
    """A number; a text of one counts, and the scorer refuses any other."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    from rag_eval.plumbing.strict_json import JsonFault, parse_json

    try:
        found = parse_json(text)
    except JsonFault:
        return value
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else value


_CHECKS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "question": _text,
    "answer": _text,
    "language": _text,
    "contexts": _contexts,
    "ground_truth": _truth,
    "relevant_ids": _grades,
    **dict.fromkeys(("retrieved_ids", "assertions", "mock_hits"), _document),
    **dict.fromkeys(("tool_calls", "expected_tool_calls"), _document),
    **dict.fromkeys(("messages", "trajectory", "expected_trajectory"), _document),
    **dict.fromkeys(("cost_usd", "latency_ms", "n_turns", "judge_score"), _amount),
}


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """Values by field, None if a row lacks it.

    Attributes
    ----------
    columns : dict
        Only fields that some row has.
    gaps : frozenset of str
        The fields among them that some row lacks.
    """

    n_rows: int
    columns: dict[str, list[Any]]
    gaps: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = {name: set(map(type, values)) for name, values in self.columns.items()}
        for name in [name for name, found in kinds.items() if found <= {NoneType}]:
            del self.columns[name]
        gaps = frozenset(name for name in self.columns if NoneType in kinds[name])
        object.__setattr__(self, "gaps", gaps)

    def places(self, needed: Sequence[str]) -> list[int]:
        """The rows that have all of some fields."""
        if not all(name in self.columns for name in needed):
            return []
        left = list(range(self.n_rows))
        for name in self.gaps.intersection(needed):
            values = self.columns[name]
            left = [place for place in left if values[place] is not None]
        return left

    def rows(self, names: Sequence[str], places: Sequence[int]) -> list[dict[str, Any]]:
        """Some fields of some rows, each without those that it lacks."""
        read = {name: self.columns[name] for name in names if name in self.columns}
        if len(places) < self.n_rows:
            read = {name: [values[place] for place in places] for name, values in read.items()}
        if not read:
            return [{} for _ in places]
        given = list(read)
        if len(given) == 1 and self.gaps.isdisjoint(given):
            name = given[0]
            return [{name: value} for value in read[name]]  # a fifth of the time of zip
        rows = zip(*read.values(), strict=True)
        if self.gaps.isdisjoint(given):
            return [dict(zip(given, row)) for row in rows]  # noqa: B905  # each is as long
        return [
            {name: value for name, value in zip(given, row, strict=True) if value is not None}
            for row in rows
        ]


def field_columns(block: SampleBlock, names: Sequence[str]) -> FieldColumns:
    """The fields of every row of a block, as :func:`block_fields` has them.

    Raises
    ------
    SampleError
        For the first row with an invalid field.
    """
    columns = plain_columns(block, names)
    if columns is None:
        rows = block_fields(block, names)
        columns = {name: [row.get(name) for row in rows] for name in names}
    return FieldColumns(len(block), columns)


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
