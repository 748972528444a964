"""A name of data from the caller -> its files, in the order in which they are read."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from rag_eval.errors import InputError, kind_of
from rag_eval.inputs.byte_files import plain_name
from rag_eval.plumbing.descriptors import is_standard_input

DataSource: TypeAlias = str | Path | Sequence[str | Path]

LINES: Final = (".jsonl", ".ndjson")
COLUMNS: Final = (".parquet", ".arrow", ".feather")
TABLES: Final = (".csv", ".tsv")
EXCEL: Final = ".xlsx"
KNOWN: Final = (*LINES, ".json", *TABLES, EXCEL, *COLUMNS)


def files_of(data: DataSource) -> list[str | Path]:
    """The files of a name, a pattern, a folder or a list of them; those of a pattern sorted.

    Raises
    ------
    InputError
        When there is none.
    """
    if not isinstance(data, (str, Path, Sequence)) or (
        isinstance(data, (list, tuple)) and any(isinstance(item, Mapping) for item in data)
    ):
        raise InputError(
            f"data must be a file name or a list of file names, got {kind_of(data)}. To score "
            "samples in memory: evaluate_batch(samples)"
        )
    if not isinstance(data, (str, Path)):
        if not data:
            raise InputError("no file was given")
        return [path for item in data for path in files_of(item)]
    text = str(data)
    if not is_standard_input(text) and Path(data).is_dir():
        return _files_in(Path(data))
    if is_standard_input(text) or not glob.has_magic(text) or Path(data).exists():
        return [data]
    found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # may be absolute
    if not found:
        raise InputError(f"no file matches the pattern {text!r}; check the pattern and the folder")
    return list(found)


def _files_in(folder: Path) -> list[str | Path]:
    """The files of samples in a folder, such as engines write in place of one file."""
    found = sorted(
        path
        for path in folder.iterdir()
        if path.is_file()
        and plain_name(path).endswith(KNOWN)
        and not path.name.startswith((".", "_"))
    )
    if not found:
        raise InputError(
            f"the folder '{folder}' contains no sample files ({', '.join(KNOWN)}); give a sample "
            "file, or a folder that contains some"
        )
    return list(found)


def list_name(data: DataSource) -> str:
    """A pattern or a folder as it is, a list as its first item and how many follow."""
    if isinstance(data, (str, Path)):
        return str(data)
    return list_name(data[0]) + (f" and {len(data) - 1} more" if len(data) > 1 else "")


def check_format(path: str | Path) -> None:
    """Raise an InputError for a file whose name does not end as that of a known format."""
    if not is_standard_input(path) and not plain_name(path).endswith(KNOWN):
        raise InputError(
            f"{path}: unknown file format. The name must end in {', '.join(KNOWN[:-1])} or "
            f"{KNOWN[-1]} (text formats may be compressed: .gz or .zst). Rename or convert the "
            "file, or give - to read JSON Lines from standard input"
        )


def total_size(paths: Sequence[str | Path]) -> int:
    """Total bytes of the files; 0 if unknown."""
    try:
        return sum(Path(path).stat().st_size for path in paths if not is_standard_input(path))
    except OSError:
        return 0
