"""Values in an assertion: each checked, with an error that says what was wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.checked_values import is_number
from rag_eval.scorers.javascript import trimmed

Values: TypeAlias = Mapping[str, Any]

REQUIRED: Final = object()

# A tool, and the place of the mock among the mocks of that tool, from 1 on.
_MOCK: Final = re.compile("[^:]+:[1-9][0-9]*")
# Beyond it, JavaScript's numbers leave whole ones out.
_MOST: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that an assertion has.

    Attributes
    ----------
    name : str
    accepts : callable
        Whether a value will do.
    wanted : str
        The accepted values in words.
    default : any
        What counts where the assertion has none; REQUIRED where it must have one.
    """

    name: str
    accepts: Callable[[Any], bool]
    wanted: str
    default: Any = REQUIRED

    def read(self, source: Values) -> Any:
        """The value in an assertion, checked."""
        value = source.get(self.name)
        if value is None:
            if self.default is REQUIRED:
                raise InputError(f"{self.name} is missing: it must be {self.wanted}")
            return self.default
        if not self.accepts(value):
            raise InputError(f"{self.name} must be {self.wanted}, got {glance(value)}")
        return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and trimmed(value) != ""


def _is_mock(value: object) -> bool:
    return isinstance(value, str) and _MOCK.fullmatch(value) is not None


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(map(_is_text, value))


def _is_whole(value: Any) -> bool:
    return is_number(value) and value >= 1 and value == int(value)


def _within(lowest: float, highest: float) -> Callable[[Any], bool]:
    return lambda value: is_number(value) and lowest <= value <= highest


TEXT: Final = Parameter("value", _is_text, "a non-blank text")
TEXTS: Final = Parameter("values", _are_texts, "a list of non-blank texts")
MOCK: Final = Parameter("value", _is_mock, "a tool and the number of its mock, as in 'Bash:1'")
AMOUNT: Final = Parameter("value", _within(0, _MOST), "a number from 0 to 2**53 - 1")
PATTERN: Final = Parameter("pattern", lambda value: isinstance(value, str), "a regular expression")
FLAGS: Final = Parameter("flags", lambda value: isinstance(value, str), "a text of flags", "i")
SCHEMA: Final = Parameter("schema", lambda value: isinstance(value, Mapping), "a JSON schema")
REFERENCE: Final = Parameter("reference", _is_text, "a non-blank text")
OWN_REFERENCE: Final = Parameter("reference", lambda value: isinstance(value, str), "a text", "")
GRAM: Final = Parameter("n", _is_whole, "a whole number of at least 1", 1)
SHARE: Final = Parameter("threshold", _within(0, 1), "a number from 0 to 1", 0.5)
RATING: Final = Parameter("threshold", _within(1, 5), "a number from 1 to 5", 3)
HITS: Final = Parameter("threshold", _within(0, _MOST), "a number from 0 to 2**53 - 1", 1)
FUNCTION: Final = Parameter("fn", _is_text, "the name of a check")

WEIGHT: Final = Parameter(
    "weight",
    lambda value: is_number(value) and 0 < value <= _MOST,
    "a number above 0 and up to 2**53 - 1",
    1,
)
NOT: Final = Parameter("not", lambda value: isinstance(value, bool), "true or false", False)
MODE: Final = Parameter("mode", lambda value: value in ("all", "any"), "'all' or 'any'", "all")
CHILDREN: Final = Parameter(
    "children",
    lambda value: isinstance(value, (list, tuple)) and bool(value),
    "a non-empty list of assertions",
)
