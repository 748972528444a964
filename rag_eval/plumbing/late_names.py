"""Names of a package and the modules that hold them -> a module's ``__getattr__`` (PEP 562).

Otherwise a contract would import every scorer of its tool, including the judged ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def late_names(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """What looks a name of a package up when it is first used.

    Parameters
    ----------
    package : str
        Its full name.
    homes : mapping
        Names by the modules that hold them; a module whose name has no dot is one of the package.
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    return lambda name: _value(package, home_of.get(name), name)


def stubbed_names(package: str) -> Callable[[str], Any]:
    """The same for a package whose names are imported in its stub, ``__init__.pyi``.

    The stub is the one list of its names: checkers of types read it, and so does this, when the
    first name is asked for. ``__all__`` is such a name.
    """

    @cache
    def home_of() -> dict[str, str]:
        import ast
        from importlib import resources

        stub = resources.files(package) / "__init__.pyi"
        return {
            each.name: str(node.module)
            for node in ast.parse(stub.read_text("utf-8")).body
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }

    def value_of(name: str) -> Any:
        if name == "__all__":
            return list(home_of())
        # Of a module of the package this is asked before it is imported, and needs no stub.
        is_module = find_spec(f"{package}.{name}") is not None
        return _value(package, None if is_module else home_of().get(name), name)

    return value_of


def _value(package: str, module: str | None, name: str) -> Any:
    if module is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value = getattr(import_module(module if "." in module else f"{package}.{module}"), name)
    setattr(sys.modules[package], name, value)
    return value
