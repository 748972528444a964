"""``module:function`` -> the function, looked for where the command was called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_eval.errors import InputError, suggestion
from rag_eval.golden.calling import error_text


def imported_function(name: str, flag: str) -> Callable[..., Any]:
    """The function of that name; its module runs as it is imported.

    The current folder comes first, as for ``python -m``.

    Raises
    ------
    InputError
        When there is no such module or function, or the module cannot be imported.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise InputError(f"{flag}: wanted MODULE:FUNCTION, got {name!r}")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise InputError(f"{flag}: there is no module {module_name!r} in {folder}") from None
        raise InputError(f"{flag}: {module_name} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error_text(error)}"
        raise InputError(f"{flag}: {module_name} cannot be imported: {text}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            hint = suggestion(part, dir(found))
            raise InputError(f"{flag}: {module_name} has no {part!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{flag}: {name} is no function, but {type(found).__name__}")
    function: Callable[..., Any] = found
    return function
