"""pyarrow, an optional dependency: files of columns are its, accepting Arrow data is not."""

from __future__ import annotations

from typing import Any

from rag_eval.errors import MissingExtraError


def pyarrow(purpose: str) -> Any:
    """The package; a MissingExtraError says what wants it and names the extra that brings it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            f"{purpose} needs pyarrow: pip install 'rag-eval-native[arrow]'"
        ) from None
    return pyarrow
