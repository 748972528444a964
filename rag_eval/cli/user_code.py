"""Imports modules and functions of the user by name, also from the current folder."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion

_LOADED: Final[set[str]] = set()


def has_run() -> bool:
    """Whether a module of the user was imported, or was about to be."""
    return bool(_LOADED)


def imported(name: str, flag: str) -> ModuleType:
    """The module of that name, which runs as it is imported.

    The current folder comes first, as for ``python -m``.

    Raises
    ------
    InputError
        When there is none, or it fails as it is imported; the message names the flag.
    """
    if not name or name.startswith(".") or "/" in name or "\\" in name:
        raise InputError(
            f"{flag}: a module is named package.module, not by a path; got {glance(name)}"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    _LOADED.add(name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{flag} {name}: cannot be imported: {error}") from error
        hint = "; a module is named without .py" if name.endswith(".py") else ""
        raise InputError(
            f"{flag} {name}: found no such module here ({here}) or among the installed ones{hint}"
        ) from None
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise InputError(f"{flag} {name}: cannot be imported: {text}") from error


def imported_function(name: str, flag: str) -> Callable[..., Any]:
    """The function that ``module:function`` names; dots lead into objects.

    Raises
    ------
    InputError
        As :func:`imported`, and when the module has no such function.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise InputError(f"{flag}: expected MODULE:FUNCTION, got {glance(name)}")
    found: Any = imported(module_name, flag)
    for part in path.split("."):
        if not hasattr(found, part):
            hint = suggestion(part, dir(found))
            raise InputError(f"{flag}: {module_name} has no {part!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{flag}: {name} is not a function but {type(found).__name__}")
    function: Callable[..., Any] = found
    return function
