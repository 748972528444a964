"""Values of files, checked one by one.  In: a record and a key.  Out: the value, or a fault."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.spelling import camel_case, snake_case

_MISSING: Final = object()
# Names that are nearer than this are one name, misspelt: "expectedOutputs".
_NEAR: Final = 0.85
# What was found, where it is no value.
_NOTHING: Final = "nothing"
_UNKNOWN_KEY: Final = "unknown key"


class Fault(NamedTuple):
    """An error at one place of a file.

    Attributes
    ----------
    place : str
        ``cases[3].expectedToolCalls``; empty for the document as a whole.
    wanted, found : str
    """

    place: str
    wanted: str
    found: str

    def __str__(self) -> str:
        if self.found == _UNKNOWN_KEY:
            return f"{self.place}: {self.found}; did you mean {self.wanted!r}?"
        if self.found == _NOTHING:
            return f"{self.place} is missing; it must be {self.wanted}"
        return f"{self.place or 'the document'} must be {self.wanted}, got {self.found}"


def described(value: object) -> str:
    """A value in a few words, for a message."""
    if value is _MISSING:
        return _NOTHING
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"{value[:40]!r}" if len(value) <= 40 else f"a string of {len(value):,} characters"
    if isinstance(value, (bool, int, float)):
        text = str(value) if not isinstance(value, int) or abs(value) < 10**18 else "a huge number"
        return f"{type(value).__name__} {text}"
    if isinstance(value, (list, tuple)) and not value:
        return "an empty list"
    return type(value).__name__


class Record:
    """A mapping of a file that notes what is wrong with its values.

    Keys are looked up in both spellings, ``expectedOutput`` and ``expected_output``.
    """

    def __init__(self, values: Mapping[str, Any], place: str, faults: list[Fault]) -> None:
        self._values = values
        self._place = place
        self._faults = faults

    @property
    def faults(self) -> list[Fault]:
        """All faults of the document so far."""
        return self._faults

    @property
    def values(self) -> Mapping[str, Any]:
        """The mapping itself."""
        return self._values

    def place(self, key: object = None) -> str:
        """Where a value is."""
        if key is None:
            return self._place
        return f"{self._place}.{key}" if self._place else str(key)

    def note(self, key: object, wanted: str, value: object) -> None:
        """Note a fault."""
        self._faults.append(Fault(self.place(key), wanted, described(value)))

    def get(self, key: str) -> Any:
        """A value, or a marker if there is none."""
        found = [self._values[name] for name in _spellings(key) if name in self._values]
        if len(found) > 1 and any(value != found[0] for value in found[1:]):
            self.note(key, "the same in both spellings", found[0])
        return found[0] if found else _MISSING

    def has(self, key: str) -> bool:
        """Whether there is a value that is not null."""
        return any(self._values.get(name) is not None for name in _spellings(key))

    def text(self, key: str, *, empty: bool = False, null: bool = False) -> str | None:
        """A text that has to be there."""
        value = self.get(key)
        if value is None and null:
            return None
        if isinstance(value, str) and (value or empty):
            return value
        wanted = "a string" if empty else "a non-empty string"
        self.note(key, f"{wanted} or null" if null else wanted, value)
        return None

    def optional_text(self, key: str) -> str | None:
        """A text, the empty one included, or nothing."""
        return self.text(key, empty=True) if self.has(key) else None

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...] | None:
        """A list of texts."""
        values = self.items(key, required=required)
        if values is None:
            return None
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.note(f"{key}[{index}]", "a string", value)
        return tuple(value for value in values if isinstance(value, str))

    def items(self, key: str, *, required: bool = False) -> list[Any] | None:
        """A list."""
        value = self.get(key)
        if (value is _MISSING or value is None) and not required:
            return None
        if isinstance(value, (list, tuple)):
            return list(value)
        self.note(key, "a list", value)
        return None

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """A mapping, or nothing."""
        if not self.has(key):
            return None
        value = self.get(key)
        if isinstance(value, Mapping):
            return value
        self.note(key, "a mapping", value)
        return None

    def mappings(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """A list of mappings, or nothing."""
        values = self.items(key) or []
        for index, value in enumerate(values):
            if not isinstance(value, Mapping):
                self.note(f"{key}[{index}]", "a mapping", value)
        return tuple(value for value in values if isinstance(value, Mapping))

    def number(
        self,
        key: str,
        default: float,
        wanted: str = "a number of at least 0",
        most: float = math.inf,
    ) -> float:
        """A finite number of at least 0."""
        value = self.get(key)
        if value is _MISSING:
            return default
        if is_number(value) and 0 <= value <= most:
            return float(value)
        self.note(key, wanted, value)
        return default

    def child(self, value: Mapping[str, Any], place: str) -> Record:
        """A mapping inside this one."""
        return Record(value, place, self._faults)

    def check_names(self, known: tuple[str, ...]) -> None:
        """Note keys that are nearly known ones, because their values would be ignored silently.

        Beside the known one, a similar key is a key of its own.
        """
        names = _all_spellings(known)
        for key in self._values:
            if key in names:
                continue
            near = difflib.get_close_matches(str(key)[:100], names, 1, _NEAR)
            if near and not any(name in self._values for name in _spellings(near[0])):
                place = self.place(str(key)[:100])
                self._faults.append(Fault(place, near[0], _UNKNOWN_KEY))


@cache  # every case asks for the same
def _spellings(key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((key, snake_case(key), camel_case(key))))


@cache
def _all_spellings(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for key in keys for name in _spellings(key))


def records(root: Record, key: str, values: Iterable[Any]) -> list[Record]:
    """The mappings of a list of cases; other items are noted as faults."""
    found = []
    for index, value in enumerate(values):
        if isinstance(value, Mapping):
            found.append(root.child(value, root.place(f"{key}[{index}]")))
        else:
            root.note(f"{key}[{index}]", "a mapping", value)
    return found


def check_unique(ids: Iterable[tuple[Record, str | None]], key: str = "id") -> None:
    """Note every id that more than one case has, at the first of them."""
    first: dict[str, Record] = {}
    noted: set[str] = set()
    for record, name in ids:
        if name is None:
            continue
        if name in first and name not in noted:
            noted.add(name)
            first[name].note(key, f"unique; {record.place()} has it too", name)
        first.setdefault(name, record)
