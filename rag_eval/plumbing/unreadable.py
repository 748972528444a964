"""What to say of a file that cannot be read: also which name nearly is its own."""

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
    hint = ""
    if isinstance(error, FileNotFoundError):
        hint = _near(Path(path))
    return InputError(f"cannot read {path}: {error.strerror or error}{hint}")


def _near(path: Path) -> str:
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except FileNotFoundError:
        return f"; there is no folder {path.parent}"
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"; did you mean {near[0]!r}?" if near else ""
