"""The path of a file as it was given in; the same as code hosts name files of a checkout, out."""

from __future__ import annotations

import os
from pathlib import Path


def checkout_path(path: str) -> str:
    """From the current folder with slashes, as ``data/samples.jsonl``.

    A path that leads out of it stays as it was given.
    """
    shown = os.path.relpath(path) if Path(path).is_absolute() else os.path.normpath(path)
    if shown.startswith(os.pardir):
        return path
    return Path(shown).as_posix()
