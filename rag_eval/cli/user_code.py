"""Modules of the user's, imported by name from the folder that the command runs in."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from rag_eval.errors import InputError


def imported(name: str, flag: str) -> ModuleType:
    """The module of that name.

    Raises
    ------
    InputError
        When there is none, or it fails as it is imported; the message names the flag.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise InputError(
                f"{flag} {name}: it imports {error.name}, which is not there"
            ) from None
        raise InputError(
            f"{flag} {name}: there is no such module here ({here}) nor among the installed ones"
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{flag} {name}: {type(error).__name__}: {error}") from error
