"""Parametrizes a test with the rows of a sample file named by a marker."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from rag_eval.errors import InputError, RagEvalError, suggestion
from rag_eval.reports.plain_text import plain_text, without_commands

if TYPE_CHECKING:
    from rag_eval.inputs.blocks import SampleBlock

_READING: Final = (
    *("schema", "mapping", "gold_separator", "context_separator"),
    "max_row_bytes",
)
_OPTIONS: Final = ("argname", "limit", "seed", *_READING)
_ID_LIMIT: Final = 60
_FAULT_LIMIT: Final = 500


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not a valid sample; ``fault`` names file, row and field."""

    fault: str


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    value: dict[str, Any] | BadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker:
    """The arguments of a marker, checked."""

    file: str
    argname: str = "sample"
    limit: int | None = None
    seed: int | None = None
    reading: Mapping[str, Any]


def parametrize(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """Parametrize the test with the samples of the file."""
    try:
        options = _checked(marker)
        path = _found(options.file, metafunc)
        rows = _chosen(_rows(path, options), options)
    except RagEvalError as error:
        _refuse(metafunc, plain_text(str(error), _FAULT_LIMIT))
    if not rows:
        _refuse(metafunc, f"{path} contains no samples")
    escaped = not _shows_ids_as_they_are(metafunc.config)
    safe = without_commands if escaped else plain_text
    names = _distinct(safe(row.name) for row in rows)
    metafunc.parametrize(options.argname, [row.value for row in rows], ids=names)


def check_row(item: pytest.Item) -> None:
    """Fail a test whose row is not a valid sample, with the reason."""
    callspec = getattr(item, "callspec", None)
    for value in () if callspec is None else callspec.params.values():
        if isinstance(value, BadRow):
            pytest.fail(value.fault, pytrace=False)


def _refuse(metafunc: pytest.Metafunc, fault: str) -> NoReturn:
    """Fail as pytest does for other faulty marks: only a message, and no test of the file runs."""
    pytest.fail(f"{metafunc.definition.nodeid}: rag_eval_dataset: {fault}", pytrace=False)


def _checked(marker: pytest.Mark) -> _Marker:
    if len(marker.args) != 1 or not isinstance(marker.args[0], (str, Path)):
        raise InputError("give one file as a positional argument and options as keywords")
    for name in marker.kwargs:
        if name not in _OPTIONS:
            raise InputError(f"there is no option {name!r}{suggestion(name, _OPTIONS)}")
    given = {name: value for name, value in marker.kwargs.items() if value is not None}
    for name in ("limit", "seed"):
        value, least = given.get(name), 1 if name == "limit" else 0
        if value is not None and (type(value) is not int or value < least):
            raise InputError(
                f"{name} must be a whole number of at least {least}, got {value!r:.80}"
            )
    if "seed" in given and "limit" not in given:
        raise InputError("seed has no effect without limit: give limit too")
    reading: dict[str, Any] = {name: given.pop(name) for name in _READING if name in given}
    return _Marker(file=str(marker.args[0]), reading=reading, **given)


def _found(file: str, metafunc: pytest.Metafunc) -> Path:
    """The file beside the test, otherwise in the root folder."""
    folders = (metafunc.definition.path.parent, metafunc.config.rootpath)
    for folder in folders:
        path = folder / file  # an absolute path stays unchanged
        if path.is_file():
            return path
    places = " or ".join(dict.fromkeys(map(str, folders)))
    raise InputError(f"there is no file {file} in {places}")


def _rows(path: Path, options: _Marker) -> Iterator[_Row]:
    from rag_eval.inputs.file_states import unchanged
    from rag_eval.inputs.opened import Input
    from rag_eval.jobs.options import input_options

    # The file exists, so a bracket in its name is not a pattern.
    source = Input(path, input_options(options.reading))
    with unchanged(path), closing(source.blocks()) as blocks:
        for block in blocks:
            yield from _rows_of(block, path)


def _rows_of(block: SampleBlock, path: Path) -> Iterator[_Row]:
    """Samples and faults of a block in file order.

    A wrong type is a fault. A missing field is not: a test may fill in the answer.
    """
    from rag_eval.inputs.samples import FieldNeeds, id_of
    from rag_eval.metrics.ids import ALL_METRIC_IDS
    from rag_eval.scoring.faulty_rows import origin_of, row_faults

    origin = origin_of(block)
    faults = {
        fault.number: BadRow(plain_text(f"{path.name}, {fault}", _FAULT_LIMIT))
        for fault in row_faults(block, FieldNeeds.of(ALL_METRIC_IDS, "grounded"))
    }
    places = {number: index for index, number in enumerate(origin.numbers)}
    for number in sorted(places.keys() | faults.keys()):
        index, place = places.get(number), f"{origin.unit}-{number}"
        sample = None if index is None else block.sample(index)
        found = id_of(sample)
        named = isinstance(found, (str, int)) and not isinstance(found, bool) and found != ""
        fault = faults.get(number)
        # A row is a mapping or a fault.
        value = dict(sample) if isinstance(sample, Mapping) else {}
        yield _Row(str(found) if named else place, value if fault is None else fault)


def _chosen(rows: Iterator[_Row], options: _Marker) -> list[_Row]:
    """All rows, the first ones, or a random sample, in file order."""
    if options.limit is None:
        return list(rows)
    kept: list[tuple[int, _Row]] = []
    draw = None if options.seed is None else random.Random(options.seed)
    for number, row in enumerate(rows):
        if number < options.limit:
            kept.append((number, row))
        elif draw is None:
            break
        elif (place := draw.randrange(number + 1)) < options.limit:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda pair: pair[0])]


def _distinct(names: Iterable[str]) -> list[str]:
    """Names cut to fit a line; repeated names get a number."""
    found: dict[str, None] = {}
    for name in names:
        short = name if len(name) <= _ID_LIMIT else name[: _ID_LIMIT - 1] + "…"
        unique, count = short, 1
        while unique in found:
            count += 1
            unique = f"{short}-{count}"
        found[unique] = None
    return list(found)


def _shows_ids_as_they_are(config: pytest.Config) -> bool:
    """Pytest escapes non-ASCII ids unless an ini file disables it."""
    name = "disable_test_id_escaping_and_forfeit_all_rights_to_community_support"
    return bool(config.getini(name))
