"""Names of a package and the modules that hold them -> a module's ``__getattr__`` (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """What looks a name of a package up when it is first used.

    A contract alone would otherwise import every scorer of its tool, those that ask a judge too.

    Parameters
    ----------
    package : str
        Its full name.
    homes : mapping
        Names by the modules that hold them; a module whose name has no dot is one of the package.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def value_of(name: str) -> Any:
        module = home_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        full = module if "." in module else f"{package}.{module}"
        value = getattr(import_module(full), name)
        setattr(sys.modules[package], name, value)
        return value

    return value_of
