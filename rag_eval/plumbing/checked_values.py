"""Single option values, checked; each error names the option and what was found."""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, Final, TypeGuard

from rag_eval.errors import InputError, glance

# Python writes no integer of more than 4,300 digits as text, and so not as JSON.
LARGEST_SEED: Final = 2**256 - 1


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; True and False are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= sys.float_info.max


def plain(value: Any) -> Any:
    """A number of another type, such as one of NumPy, as an int or a float; all else as it is."""
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, Integral):
        return int(value)
    with suppress(OverflowError):
        return float(value) if isinstance(value, Real) else value
    return math.inf


def number(value: object, name: str) -> float:
    """``value`` as a finite float, or an InputError that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} must be a number, got {type(value).__name__}")
    # A large int is compared as it is: no float has its value.
    if not abs(value) <= sys.float_info.max:
        raise InputError(f"{name} must be finite, got {glance(value)}")
    return float(value)


def whole_from_one(value: object, name: str) -> int:
    """``value`` as an integer of at least 1, or an InputError that names it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, got {glance(value)}")
    return value


def whole_from_zero(value: object, name: str) -> int:
    """``value`` as an integer of at least 0, or an InputError that names it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name} must be a whole number of at least 0, got {glance(value)}")
    return value


def seed_number(value: object, name: str = "seed") -> int:
    """``value`` as the seed of random draws, or an InputError that names it."""
    found = whole_from_zero(value, name)
    if found > LARGEST_SEED:
        raise InputError(f"{name} must be at most 2**256 - 1, got {glance(value)}")
    return found


def thread_count(threads: int | None) -> int:
    """``threads``, or the number of cores this process may use."""
    if threads is not None:
        return whole_from_one(plain(threads), "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def positive(value: object, name: str) -> float:
    """``value`` as a finite float above 0, or an InputError that names it."""
    found = number(value, name)
    if found <= 0:
        raise InputError(f"{name} must be above 0, got {glance(value)}")
    return found


def from_zero(value: object, name: str) -> float:
    """``value`` as a finite float of at least 0, or an InputError that names it."""
    found = number(value, name)
    if found < 0:
        raise InputError(f"{name} must be at least 0, got {glance(value)}")
    return found


def share(value: object, name: str) -> float:
    """``value`` as a float from 0 to 1, or an InputError that names it."""
    found = number(value, name)
    if not 0 <= found <= 1:
        hint = f"; {found:g} % is written {found / 100:g}" if 1 < found <= 100 else ""
        raise InputError(f"{name} must be between 0 and 1, got {glance(value)}{hint}")
    return found


def level(value: object, name: str) -> float:
    """``value`` as the share of wrong answers of a test, or an InputError that names it."""
    found = number(value, name)
    if not 0 < found < 0.5:
        raise InputError(f"{name} must be above 0 and below 0.5, got {found:g}")
    return found


def flag(value: object, name: str) -> bool:
    """``value`` when it is true or false, or an InputError that names it."""
    # Those of NumPy are no bool of Python: ``numpy.bool``, or ``bool_`` before NumPy 2.
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InputError(f"{name} must be true or false, got {glance(value)}")


def one_of(value: object, name: str, choices: tuple[str, ...]) -> str:
    """``value`` when it is among the choices, or an InputError that names them."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise InputError(f"{name} must be {known}, got {glance(value)}")
    return value


def number_of(text: str) -> float:
    """``0.9`` or ``90%`` -> 0.9; a ValueError for anything else."""
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)
