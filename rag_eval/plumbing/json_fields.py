"""Reads the fields of an untrusted JSON object by type; errors name the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Final, NoReturn, TypeVar

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.checked_values import is_number

_Item = TypeVar("_Item")
_SHOWN_NAME: Final = 60


class Fields:
    """The fields of one object; errors name the field, the expected type and the value.

    Missing fields are null, which only some fields may be.

    Parameters
    ----------
    values : object
        The object, which must be a mapping.
    place : str
        The path of the object in errors; empty for the outermost.
    """

    __slots__ = ("_place", "_values")

    def __init__(self, values: object, place: str = "") -> None:
        if not isinstance(values, Mapping):
            _refuse(place, "an object", values)
        self._values: Mapping[str, Any] = values
        self._place = place

    def get(self, name: str) -> Any:
        """The value unchanged; None if missing."""
        return self._values.get(name)

    def refuse(self, name: str, wanted: str) -> NoReturn:
        """Raise an InputError about a field."""
        _refuse(self._path(name), wanted, self._values.get(name))

    def require(self, name: str, wanted: str) -> None:
        """Raise if the object lacks this field, which may be null."""
        if name not in self._values:
            raise InputError(f"{self._path(name)} is missing: it must be {wanted}")

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._values.get(name)
        return value if is_number(value) else self.refuse(name, "a number")

    def number_or_none(self, name: str) -> float | None:
        """A finite number, or null."""
        value = self._values.get(name)
        if value is None or is_number(value):
            return value
        return self.refuse(name, "a number or null")

    def count(self, name: str) -> int:
        """A number of at least 0, its whole part; 0 for null."""
        value = self._values.get(name)
        if value is None:
            return 0
        return int(value) if is_number(value) and value >= 0 else self.refuse(name, "a count")

    def place_or_none(self, name: str) -> int | None:
        """A whole number of at least 0, or null."""
        value = self._values.get(name)
        if value is None or _is_place(value):
            return value
        return self.refuse(name, "a whole number of at least 0, or null")

    def span(self, name: str) -> tuple[int, int]:
        """The span (begin, end) of a text."""
        found = self.span_or_none(name)
        return self.refuse(name, "a span [begin, end]") if found is None else found

    def span_or_none(self, name: str) -> tuple[int, int] | None:
        """The span (begin, end) of a text, or null."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, list) and len(value) == 2 and all(map(_is_place, value)):
            begin, end = value
            if begin <= end:
                return begin, end
        return self.refuse(name, "a span [begin, end]")

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else self.refuse(name, "true or false")

    def flag_or_none(self, name: str) -> bool | None:
        """True, false or null."""
        value = self._values.get(name)
        if value is None or isinstance(value, bool):
            return value
        return self.refuse(name, "true, false or null")

    def text(self, name: str, default: str = "") -> str:
        """A text; ``default`` for null."""
        value = self._values.get(name)
        if value is None:
            return default
        return value if isinstance(value, str) else self.refuse(name, "a string")

    def text_or_none(self, name: str) -> str | None:
        """A text, or null."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        return self.refuse(name, "a string or null")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty for null."""
        return self._items(name, "text", lambda item: isinstance(item, str))

    def numbers_or_none(self, name: str) -> tuple[float, ...] | None:
        """A list of finite numbers, or null."""
        if self._values.get(name) is None:
            return None
        return self._items(name, "number", is_number)

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of objects, unchanged; empty for null."""
        return self._items(name, "object", lambda item: isinstance(item, Mapping))

    def each(self, name: str, read: Callable[[Fields], _Item]) -> tuple[_Item, ...]:
        """A list of objects as JsonFields; empty for null."""
        place = self._path(name)
        return tuple(
            read(Fields(item, f"{place}[{number}]"))
            for number, item in enumerate(self._listed(name, "object"))
        )

    def inner(self, name: str) -> Fields:
        """An object; an empty one for null."""
        value = self._values.get(name)
        return Fields({} if value is None else value, self._path(name))

    def needed(self, name: str) -> Fields:
        """A required object."""
        return Fields(self._values.get(name), self._path(name))

    def names(self) -> Set[str]:
        """The names of the fields."""
        return self._values.keys()

    def items(self) -> Iterable[tuple[str, Fields]]:
        """Every field as an object."""
        for name, value in self._values.items():
            yield name, Fields(value, self._path(name))

    def _items(self, name: str, kind: str, is_one: Callable[[Any], bool]) -> tuple[Any, ...]:
        found = self._listed(name, kind)
        for number, item in enumerate(found):
            if not is_one(item):
                article = "an" if kind[0] in "aeiou" else "a"
                _refuse(f"{self._path(name)}[{number}]", f"{article} {kind}", item)
        return tuple(found)

    def _listed(self, name: str, kind: str) -> list[Any]:
        value = self._values.get(name)
        if value is None:
            return []
        return value if isinstance(value, list) else self.refuse(name, f"a list of {kind}s")

    def _path(self, name: str) -> str:
        shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
        return f"{self._place}.{shown}" if self._place else shown


def _is_place(value: object) -> bool:
    return type(value) is int and value >= 0


def _refuse(place: str, wanted: str, found: object) -> NoReturn:
    raise InputError(f"{place or 'it'} must be {wanted}, got {glance(found)}")
