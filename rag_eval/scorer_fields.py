"""Samples of any kind -> the fields that scorers read, under their snake_case names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_eval.blocks import SampleBlock, SampleError
from rag_eval.errors import InputError
from rag_eval.options import Plan
from rag_eval.samples import EvalSample, camel_case
from rag_eval.sources import TEXT_FIELDS, SampleLike

# What every block has under our names, whatever its columns are called.
_OWN_FIELDS = frozenset({*TEXT_FIELDS, "id", "metadata", "language"})


def fields_of(sample: SampleLike, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a sample, without those that it lacks.

    Either spelling counts, and what the sample itself lacks is looked for in its metadata.

    Raises
    ------
    InputError
        For a text that is none, contexts that are no list of texts, and two spellings of a field
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
    """The same for every row of a block; columns that are no field of ours count, too."""
    rows: list[dict[str, Any]] = []
    for index in range(len(block)):
        try:
            rows.append(fields_of(block.sample(index), names))
        except InputError as error:
            raise SampleError(block.name(index), str(error)) from None
    for name in names:
        if name in _OWN_FIELDS or all(name in row for row in rows):
            continue
        for spelling in dict.fromkeys((name, camel_case(name))):
            for row, value in zip(rows, block.values(spelling), strict=True):
                if value is not None:
                    row.setdefault(name, value)
    return rows


def row_fields(block: SampleBlock, index: int, plan: Plan) -> dict[str, Any] | None:
    """The fields of one row that the scorers of a plan read; None where it has no scorers."""
    if not plan.scorers:
        return None
    return block_fields(block.taken([index]), plan.scorer_fields)[0]


def columns_of_scorers(plan: Plan) -> list[str]:
    """The columns of a table that scorers of a plan read, in either spelling."""
    names = [name for name in plan.scorer_fields if name not in _OWN_FIELDS]
    return list(dict.fromkeys(spelling for name in names for spelling in (name, camel_case(name))))


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
                raise InputError(f"{name} and {camel} are both there, with different values")
            value = other if value is None else value
        if value is not None:
            return value
    return None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a str, got {type(value).__name__}")
    return value


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{name} must be a list of str, got {type(value).__name__}")
    for place, text in enumerate(value):
        _text(text, f"{name}[{place}]")
    return list(value)


def _truth(value: object, name: str) -> str | list[str] | None:
    """The ground truth; the empty text means that there is none."""
    if isinstance(value, str):
        return value or None
    truths = [text for text in _texts(value, name) if text]
    return truths[0] if len(truths) == 1 else truths or None


_CHECKS = {
    "question": _text,
    "answer": _text,
    "language": _text,
    "contexts": _texts,
    "ground_truth": _truth,
}
