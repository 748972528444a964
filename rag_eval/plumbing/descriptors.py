"""Names of files that this process has open: ``-``, ``/dev/stdin``, ``/dev/fd/3``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

STANDARD_STREAM: Final = "-"
"""Standard input where something is read, standard output where something is written."""

_NAMED: Final = {"stdin": 0, "stdout": 1, "stderr": 2}
_NAME: Final = re.compile(
    r"/dev/(stdin|stdout|stderr)|/(?:dev|proc/(?:self|thread-self))/fd/([0-9]{1,9})"
)


def descriptor_of(name: str | Path) -> int | None:
    """The number of the open file that a path stands for; None for the path of any other file."""
    found = _NAME.fullmatch(str(name))
    if found is None:
        return None
    return _NAMED[found[1]] if found[1] else int(found[2])


def is_standard_input(name: str | Path) -> bool:
    """Whether this name of data means standard input."""
    return str(name) == STANDARD_STREAM or descriptor_of(name) == _NAMED["stdin"]


def is_standard_output(name: str | Path) -> bool:
    """Whether this name of a target means standard output."""
    return str(name) == STANDARD_STREAM or descriptor_of(name) == _NAMED["stdout"]
