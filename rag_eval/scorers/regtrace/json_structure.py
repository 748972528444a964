"""Two JSON values, a wanted and a found one -> how many of their leaves agree, and which do not.

There are two rules: that of the documents, and that of the tool's code, which is kept under a name
of its own because its results are known to people.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rag_eval.plumbing.javascript_numbers import shortest
from rag_eval.scorers.javascript import keys_in_order, trimmed, written

Kind: TypeAlias = Literal["missing", "extra", "type_mismatch", "wrong"]

TOLERANCE: Final = Decimal("0.01")
"""How far a number may be from the one that is wanted."""

MOST_MISMATCHES: Final = 1000
"""Of more than these, just the number is known: a text can hold millions."""

_CODE_TOLERANCE: Final = 0.01
_ROOT: Final = "$"


class _Absent:
    """Stands where the other side has a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""What a mismatch has on the side that has no value."""


class Mismatch(NamedTuple):
    """A place where two values differ.

    Attributes
    ----------
    path : str
        ``$`` is the value itself, ``$.lines[0].sku`` a value inside. A list of plain values is
        compared as a set, and what differs there has the path of the list.
    kind : {"missing", "extra", "type_mismatch", "wrong"}
    expected, actual : object
        `ABSENT` where there is none.
    of_set : bool
        Whether it is an item of a list that is compared as a set.
    """

    path: str
    kind: Kind
    expected: Any = ABSENT
    actual: Any = ABSENT
    of_set: bool = False


@dataclass(slots=True)
class Comparison:
    """The comparison of two JSON values.

    Attributes
    ----------
    matched, expected, extra : int
        Numbers of matching leaves, of expected leaves, and of unexpected leaves.
    n_mismatches : int
    mismatches : list of Mismatch
        The first ``MOST_MISMATCHES``, in the order of the found value.
    """

    matched: int = 0
    expected: int = 0
    extra: int = 0
    n_mismatches: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    @property
    def score(self) -> float:
        """``matched / (expected + extra)``; 1 if both values have no leaves."""
        total = self.expected + self.extra
        return self.matched / total if total else 1.0

    def differ(self, mismatch: Mismatch, weight: int) -> None:
        """Count a mismatch of this many leaves."""
        if mismatch.kind == "extra":
            self.extra += weight
        else:
            self.expected += weight
        self.n_mismatches += 1
        if len(self.mismatches) < MOST_MISMATCHES:
            self.mismatches.append(mismatch)

    def agree(self, n_leaves: int = 1) -> None:
        """Count matching leaves."""
        self.matched += n_leaves
        self.expected += n_leaves


@dataclass(frozen=True, slots=True)
class _Rule:
    """What the two rules have in different ways."""

    kind: Callable[[Any], str]
    equal: Callable[[Any, Any], bool]
    key: Callable[[Any], Any]
    near_in_lists: bool
    weight: Callable[[Any], int]


# Path, wanted, found.
_Pair: TypeAlias = tuple[str, Any, Any]


def compare_json(expected: Any, actual: Any) -> Comparison:
    """Compare two JSON values leaf by leaf, by the documented rule.

    Texts, booleans and null must be equal. Numbers may differ by at most 0.01 as printed, so that 1
    and 1.01 match. Objects are compared key by key, lists that contain an object or a list place by
    place, and lists of plain values as sets. A missing or additional part counts with all of its
    leaves; an empty object or list is one leaf that only matches another empty one.
    """
    return _compared(_DOCUMENTED, expected, actual)


def compare_json_as_code(expected: Any, actual: Any) -> Comparison:
    """Two JSON values by the rule of Regtrace 0.10's code.

    As :func:`compare_json`, but: numbers are compared in binary, so that a gap of 0.01 is within
    the tolerance for some and not for others; texts without the white space at their ends; lists of
    plain values by their printed form and without a tolerance, so that 1 is "1"; a list is an
    object whose keys are its places where the other is an object; nothing is wanted of an empty
    object but that, which counts as found; a missing or an additional part counts once.
    """
    return _compared(_CODE, expected, actual)


def n_leaves(value: Any) -> int:
    """How many leaves a JSON value has; an empty object or list is one."""
    count, pending = 0, [value]
    while pending:
        inner = _inner(pending.pop())
        if inner:
            pending += inner
        else:
            count += 1
    return count


def compact(value: Any) -> str:
    """A JSON value as JavaScript prints it without spaces."""
    try:
        return written(value)
    except RecursionError:
        return "[…]" if isinstance(value, list) else "{…}"


# ---------------------------------------------------------------------------------- the comparison


def _compared(rule: _Rule, expected: Any, actual: Any) -> Comparison:
    found = Comparison()
    # A stack and no recursion: values are nested as deep as whoever wrote them liked.
    pending: list[_Pair] = [(_ROOT, expected, actual)]
    while pending:
        inside = list(_visit(rule, found, *pending.pop()))
        pending += reversed(inside)
    return found


def _visit(
    rule: _Rule, found: Comparison, path: str, expected: Any, actual: Any
) -> Iterable[_Pair]:
    """Compare two values, and give the pairs inside that are still to be compared."""
    if expected is ABSENT:
        found.differ(Mismatch(path, "extra", actual=actual), rule.weight(actual))
        return ()
    if actual is ABSENT:
        found.differ(Mismatch(path, "missing", expected=expected), rule.weight(expected))
        return ()
    kind = rule.kind(expected)
    if kind != rule.kind(actual):
        found.differ(Mismatch(path, "type_mismatch", expected, actual), rule.weight(expected))
        return ()
    if isinstance(expected, list) and isinstance(actual, list):
        return _lists(rule, found, path, expected, actual)
    if isinstance(expected, (dict, list)) and isinstance(actual, (dict, list)):
        return _objects(rule, found, path, keyed(expected), keyed(actual))
    if rule.equal(expected, actual):
        found.agree()
    else:
        found.differ(Mismatch(path, "wrong", expected, actual), rule.weight(expected))
    return ()


def _objects(
    rule: _Rule, found: Comparison, path: str, expected: dict[str, Any], actual: dict[str, Any]
) -> Iterator[_Pair]:
    if not expected:
        if not actual or rule is _CODE:
            found.agree()
        else:
            found.expected += 1
    for key in keys_in_order(actual):
        yield f"{path}.{key}", expected.get(key, ABSENT), actual[key]
    for key in keys_in_order(expected):
        if key not in actual:
            yield f"{path}.{key}", expected[key], ABSENT


def _lists(
    rule: _Rule, found: Comparison, path: str, expected: list[Any], actual: list[Any]
) -> Iterable[_Pair]:
    if not expected:
        if not actual:
            found.agree()
        elif rule is _DOCUMENTED:
            found.expected += 1
    if not any(isinstance(value, (dict, list)) for side in (expected, actual) for value in side):
        _sets(rule, found, path, expected, actual)
        return ()
    longest = max(len(expected), len(actual))
    return (
        (
            f"{path}[{place}]",
            expected[place] if place < len(expected) else ABSENT,
            actual[place] if place < len(actual) else ABSENT,
        )
        for place in range(longest)
    )


def _sets(
    rule: _Rule, found: Comparison, path: str, expected: list[Any], actual: list[Any]
) -> None:
    wanted = {rule.key(value): value for value in reversed(expected)}
    there = {rule.key(value): value for value in reversed(actual)}
    in_wanted = _membership(rule, wanted)
    in_there = _membership(rule, there)
    for key in dict.fromkeys(map(rule.key, actual)):
        if not in_wanted(key):
            found.differ(Mismatch(path, "extra", actual=there[key], of_set=True), 1)
    for key in dict.fromkeys(map(rule.key, expected)):
        if in_there(key):
            found.agree()
        else:
            found.differ(Mismatch(path, "missing", expected=wanted[key], of_set=True), 1)


def _membership(rule: _Rule, values: dict[Any, Any]) -> Callable[[Any], bool]:
    """Whether a set has a value by its key, or a number near it where the rule says so."""
    if not rule.near_in_lists:
        return values.__contains__
    numbers = sorted(value for kind, value in values if kind == "number")

    def holds(key: Any) -> bool:
        if key in values:
            return True
        kind, value = key
        if kind != "number":
            return False
        place = bisect_left(numbers, value)
        return any(_near(value, number) for number in numbers[max(0, place - 1) : place + 1])

    return holds


# --------------------------------------------------------------------------------------- the rules


def _documented_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "null"
    return "array" if isinstance(value, list) else "object"


def _code_kind(value: Any) -> str:
    """``typeof``."""
    kind = _documented_kind(value)
    return "object" if kind in ("null", "array") else kind


def _documented_equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return _near(expected, actual)
    return bool(expected == actual)


def _near(expected: float, actual: float) -> bool:
    if expected == actual:
        return True
    if not abs(expected - actual) <= 1:  # or not a number
        return False
    # What binary numbers print as is what was written.
    return abs(Decimal(repr(expected)) - Decimal(repr(actual))) <= TOLERANCE


def _code_equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, str):
        return bool(trimmed(expected) == trimmed(actual))
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return bool(abs(actual - expected) <= _CODE_TOLERANCE)
    return expected is actual


def printed(value: Any) -> str:
    """``String(value)`` of a plain JSON value."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return shortest(value)
    return compact(value)


def _typed(value: Any) -> tuple[str, Any]:
    return _documented_kind(value), value


def _once(_: Any) -> int:
    return 1


_DOCUMENTED: Final = _Rule(_documented_kind, _documented_equal, _typed, True, n_leaves)
_CODE: Final = _Rule(_code_kind, _code_equal, printed, False, _once)


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def keyed(value: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """An object, or a list as an object whose keys are its places."""
    if isinstance(value, dict):
        return value
    return {str(place): item for place, item in enumerate(value)}
