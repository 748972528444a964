"""Files of golden cases -> datasets, whatever tool they were written for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.golden.datasets import GoldenDataset
from rag_eval.golden.tools.hazel import read_hazel
from rag_eval.golden.tools.omk import OMK_NAMES, read_omk
from rag_eval.golden.tools.regtrace import read_regtrace
from rag_eval.inputs.checked_records import Fault, described
from rag_eval.inputs.file_states import unchanged
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.inputs.yaml_files import MOST_BYTES, load_yaml
from rag_eval.plumbing.unreadable import unreadable

_Read: TypeAlias = tuple[GoldenDataset | None, list[Fault]]

_SUFFIXES: Final = (".json", ".yaml", ".yml")
# By the key that has the cases; a sample of omk's has no name but that of its file.
_READERS: Final[dict[str, Callable[[Any, str], _Read]]] = {
    "cases": lambda document, _: read_hazel(document),
    "test_cases": lambda document, _: read_regtrace(document),
    "samples": read_omk,
}
# Fields of files that are more likely samples.
_ROW_FILES: Final = {
    ".jsonl": "it has one JSON object per line instead of a single one",
    ".ndjson": "it has one JSON object per line instead of a single one",
    ".csv": "it is a table",
}
_SHOWN_FAULTS: Final = 3
# How messages call a dataset that is no file.
_IN_MEMORY: Final = "the dataset"


def load_golden_dataset(source: str | Path | Mapping[str, Any] | list[Any]) -> GoldenDataset:
    """The golden dataset of a file, or of a document that has been read.

    Parameters
    ----------
    source : path, mapping or list
        A ``.json``, ``.yaml`` or ``.yml`` file (YAML needs the extra ``yaml``), or a folder of
        them with omk's samples. The schema is detected: ``cases`` is HazelJS's,
        ``test_cases`` Regtrace's, ``samples`` or a bare list omk's.

    Raises
    ------
    InputError
        For a file that cannot be read and an invalid dataset; the message names the file, the
        place, the value found and the value expected.
    MissingExtraError
        For YAML without PyYAML.
    """
    where = _IN_MEMORY if isinstance(source, (Mapping, list)) else str(source)
    dataset, faults = read_golden_dataset(source)
    if dataset is not None:
        return dataset
    text = "; ".join(map(str, faults[:_SHOWN_FAULTS]))
    more = len(faults) - _SHOWN_FAULTS
    raise InputError(f"{where}: {text}" + (f"; and {more:,} more" if more > 0 else ""))


def load_golden_dataset_from_json(
    source: str | Path | Mapping[str, Any],
) -> GoldenDataset:
    """The golden dataset of a JSON file in HazelJS's schema.

    Raises
    ------
    InputError
        As :func:`load_golden_dataset`, and for another schema.
    """
    dataset = load_golden_dataset(source)
    if dataset.format != "hazel":
        raise InputError(
            f"{source if isinstance(source, (str, Path)) else 'the dataset'}: "
            f"must have its cases under 'cases', got the {dataset.format} format"
        )
    return dataset


def read_golden_dataset(source: str | Path | Mapping[str, Any] | list[Any]) -> _Read:
    """The dataset (None if invalid) and all its errors with their positions.

    Raises
    ------
    InputError
        If the file cannot be read at all.
    """
    if isinstance(source, (Mapping, list)):
        return _read(source, "samples", _IN_MEMORY)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"a dataset must be the path of a file or a mapping, got {type(source).__name__}"
        )
    path = Path(source)
    if path.is_dir():
        return _read_folder(path)
    return _read(_document(path), path.stem, str(path))


def _read(document: Any, name: str, where: str) -> _Read:
    if isinstance(document, list):
        _refuse_answers(document, where)
        return read_omk(document, name)
    if not isinstance(document, Mapping):
        return None, [Fault("", "a mapping or a list of samples", described(document))]
    found = [key for key in _READERS if key in document]
    if len(found) > 1:
        raise InputError(f"{where}: must have only one of the keys {', '.join(found)}")
    _refuse_answers([document] if not found else document.get("samples"), where)
    if not found:
        raise InputError(
            f"{where}: must have a list of cases under cases, test_cases or samples, "
            f"got {_keys_text(document)}"
        )
    return _READERS[found[0]](document, name)


def _refuse_answers(samples: object, where: str) -> None:
    """Raise an InputError for samples of a RAG application: their answers are there."""
    if not isinstance(samples, list) or not samples or not isinstance(samples[0], Mapping):
        return
    keys = [key for key in samples[0] if isinstance(key, str)]
    fields = {meaning.field for key in keys if (meaning := meaning_of(key)) is not None}
    if {"question", "answer"} <= fields and not OMK_NAMES.intersection(keys):
        raise InputError(
            f"{where} is not a golden dataset: it holds samples with answers. {_to_score(where)}"
        )


def _to_score(where: str) -> str:
    if where == _IN_MEMORY:
        return "To score samples: rag_eval.evaluate_batch"
    return f"To score samples: rag-eval run {where}"


def _keys_text(document: Mapping[str, Any]) -> str:
    if not document:
        return "an empty mapping"
    keys = ", ".join(repr(str(key)[:40]) for key in list(document)[:8])
    return f"the keys {keys}"


def _read_folder(folder: Path) -> _Read:
    """Samples of all files of a folder, sorted by name."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
    if not paths:
        raise InputError(f"{folder}: no .json, .yaml or .yml file in this folder")
    samples: list[Any] = []
    for path in paths:
        document = _document(path)
        part = document.get("samples") if isinstance(document, Mapping) else document
        if not isinstance(part, list):
            raise InputError(f"{path}: must have a list of samples, got {described(part)}")
        samples += part
    return read_omk(samples, folder.name)


def _document(path: Path) -> Any:
    try:
        with unchanged(path), path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{path}: a dataset may have at most {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start:,}") from None
    if path.suffix.lower() in (".yaml", ".yml"):
        return load_yaml(text, str(path))
    return _json(text, path)


def _json(text: str, path: Path) -> Any:
    from rag_eval.plumbing.strict_json import JsonFault, read_json

    try:
        document = read_json(text)
    except JsonFault as fault:
        told = str(fault)
        if path.suffix.lower() in _ROW_FILES:
            told = f"{_ROW_FILES[path.suffix.lower()]}. {_to_score(str(path))}"
        raise InputError(f"{path} is not a golden dataset: {told}") from None
    if document.repeated_keys:
        raise InputError(f"{path}: an object has the key {document.repeated_keys[0]!r} twice")
    return document.value
