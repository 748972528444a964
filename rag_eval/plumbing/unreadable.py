"""Messages about files that cannot be read; they suggest similar names."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError

_MOST_NAMES: Final = 1000


def unreadable(path: str | Path, error: OSError) -> InputError:
    """The error to raise; for a file that is not there it names the one that may be meant."""
    fault = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        fault = _missing(Path(path), fault)
    return InputError(f"cannot read {path}: {fault}")


def _missing(path: Path, fault: str) -> str:
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except FileNotFoundError:
        return f"the folder '{path.parent}' does not exist; check the path"
    except (OSError, ValueError):
        return fault
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"{fault}; did you mean {near[0]!r}?" if near else fault
