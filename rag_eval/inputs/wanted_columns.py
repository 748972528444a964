"""Columns of the data that are asked for by name, checked before any row is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.schemas.fields import listed


def check_columns(wanted: Sequence[str], names: Sequence[str], path: str | Path) -> None:
    """Raise an InputError for a column that is not there."""
    for name in wanted:
        if name not in names:
            raise InputError(
                f"{path} has no column {name!r}{suggestion(name, names)}; it has {listed(names)}"
            )
