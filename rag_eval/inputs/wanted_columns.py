"""Columns of the data that are asked for by name, checked before any row is read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.schemas.maps import listed
from rag_eval.inputs.schemas.paths import EACH

_METADATA: Final = "metadata."
_NEAR: Final = 0.8


def check_keys(wanted: Sequence[str], paths: Sequence[str], path: str | Path) -> None:
    """As :func:`check_columns`, for rows of JSON, which may have columns in their metadata.

    Later rows may have other keys: only a name that is nearly that of a key is an error.
    """
    names = [one for one in paths if "." not in one and EACH not in one]
    names += [one.removeprefix(_METADATA) for one in paths if one.startswith(_METADATA)]
    for name in wanted:
        if name not in {*names, *paths} and difflib.get_close_matches(name, names, 1, _NEAR):
            check_columns([name], list(dict.fromkeys(names)), path)


def check_columns(wanted: Sequence[str], names: Sequence[str], path: str | Path) -> None:
    """Raise an InputError for a column that is not there."""
    for name in wanted:
        if name not in names:
            meant = suggestion(name, names) or "."
            raise InputError(f"{path} has no column {name!r}{meant} It has {listed(names)}")
