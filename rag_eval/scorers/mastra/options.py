"""Options of a scorer, in camelCase or snake_case -> its settings, each value checked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, TypeVar

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.spelling import camel_case

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a scorer that has none."""


def settings_of(
    kind: type[Settings],
    owner: str,
    options: Mapping[str, Any] | None,
    more: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings that some options make; what is not given keeps its default.

    Parameters
    ----------
    kind : type
        A dataclass, whose fields that are dataclasses take mappings.
    options, more : mapping
        ``more`` are those given as keywords.

    Raises
    ------
    TypeError
        For a name that is no option; the message suggests the nearest.
    InputError
        For two spellings of one option, or a value that cannot be.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"{owner}: options must be a mapping, got {type(options).__name__}")
    known: dict[str, Field[Any]] = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    spellings = {spelling: name for name in known for spelling in (name, camel_case(name))}
    found: dict[str, Any] = {}
    for given, value in [*(options or {}).items(), *(more or {}).items()]:
        name = spellings.get(given)
        if name is None:
            raise TypeError(f"{owner} has no option {given!r}{suggestion(given, spellings)}")
        if name in found:
            raise InputError(f"{owner}: option {name!r} is given twice")
        found[name] = _nested(known[name], f"{owner}: {name}", value)
    missing = [name for name, each in known.items() if is_required(each) and name not in found]
    if missing:
        raise InputError(f"{owner} needs the option {missing[0]!r}")
    return kind(**found)


def is_required(each: Field[Any]) -> bool:
    """Whether a setting has no default."""
    return each.default is MISSING and each.default_factory is MISSING


def default_of(each: Field[Any]) -> Any:
    """The default of a setting; None where it has none."""
    if each.default_factory is not MISSING:
        return each.default_factory()
    return None if each.default is MISSING else each.default


def _nested(each: Field[Any], owner: str, value: Any) -> Any:
    kind = each.default_factory
    if isinstance(kind, type) and is_dataclass(kind) and not isinstance(value, kind):
        return settings_of(kind, owner, value)
    return value


def checked_number(value: object, name: str) -> float:
    """A finite number from 0 on, or an InputError that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} must be a number, got {type(value).__name__}")
    # Not by isfinite, which fails for a whole number that no float can hold.
    if not 0 <= value <= sys.float_info.max:
        raise InputError(f"{name} must be a finite number from 0 on, got {glance(value)}")
    return float(value)


def checked_scale(value: object) -> float:
    """A scale: a finite number above 0."""
    scale = checked_number(value, "scale")
    if scale == 0:
        raise InputError("scale must be above 0")
    return scale


def check_numbers(settings: object, *names: str) -> None:
    """Check that these settings are finite numbers from 0 on."""
    for name in names:
        checked_number(getattr(settings, name), name)


def checked_text(value: object, name: str) -> str:
    """A text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a text that is not empty, got {glance(value)}")
    return value
