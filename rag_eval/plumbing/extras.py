"""Optional packages of others: imported when wanted, or an error that names the extra."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from rag_eval.errors import MissingExtraError


def package(module: str, purpose: str, extra: str = "", name: str = "") -> Any:
    """An optional package.

    Parameters
    ----------
    module : str
        What is imported.
    purpose : str
        What needs it, for the message.
    extra : str, optional
        The extra that brings it; without one the package is installed by its name.
    name : str, optional
        How the package is called, where that is not the module.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        name = name or module
        wanted = f"'rag-eval-native[{extra}]'" if extra else name
        raise MissingExtraError(f"{purpose} needs {name}: pip install {wanted}") from None


def pyarrow(purpose: str) -> Any:
    """pyarrow, which reads files of columns; accepting Arrow data does not need it."""
    return package("pyarrow", purpose, "arrow")


def zstd() -> Any:
    """The module that packs and unpacks zstd: Python's own from 3.14 on, else the extra's."""
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd")
    return package("backports.zstd", "a file that ends in .zst", "zstd")
