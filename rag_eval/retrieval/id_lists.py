"""Ids and grades from users in; ids of one type and integer grades out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import Final, TypeAlias

from rag_eval.errors import InputError, glance

DocId: TypeAlias = str | int

_LOWEST: Final = -(2**31)
_HIGHEST: Final = 2**31 - 1


def id_kind(ids: Iterable[object], name: str) -> type[DocId] | None:
    """Whether ids are strings or whole numbers; None if there are none.

    Raises
    ------
    InputError
        They are both, or something else.
    """
    kinds = set(map(type, ids))
    if not kinds:
        return None
    if kinds == {str} or all(issubclass(kind, str) for kind in kinds):
        return str
    if kinds == {int} or (bool not in kinds and all(issubclass(k, Integral) for k in kinds)):
        return int
    shown = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"ids of {name} must be all strings or all whole numbers, got {shown}")


def common_kind(
    left: type[DocId] | None, left_name: str, right: type[DocId] | None, right_name: str
) -> type[DocId] | None:
    """The kind of both sides' ids.

    Raises
    ------
    InputError
        They differ, so that no id of the one can be an id of the other.
    """
    if left is None or right is None or left is right:
        return left or right
    words = {str: "strings (as keys of JSON objects always are)", int: "whole numbers"}
    raise InputError(
        f"ids of {left_name} are {words[left]} and those of {right_name} {words[right]}; "
        "use the same type in both"
    )


def check_relevant(given: object) -> None:
    """Check that relevant ids are a list or a set of ids, or a mapping of grades.

    Raises
    ------
    InputError
        They are something else.
    """
    if not isinstance(given, (list, tuple, Set, Mapping)):
        raise InputError(
            "relevant_ids must be a list of ids or a mapping of id to grade, got "
            f"{type(given).__name__}"
        )


def whole_grades(grades: Iterable[object], name: str) -> list[int]:
    """Grades as integers of 32 bits; 2.0 is 2.

    Raises
    ------
    InputError
        If a grade is not a whole number, or too large.
    """
    given = list(grades)
    if set(map(type, given)) <= {int}:
        found: list[int] = given  # type: ignore[assignment]
    else:
        found = [_whole(grade, name) for grade in given]
    if found and (min(found) < _LOWEST or max(found) > _HIGHEST):
        raise InputError(f"grades of {name} must fit into 32 bits")
    return found


def _whole(grade: object, name: str) -> int:
    if isinstance(grade, Integral) and not isinstance(grade, bool):
        return int(grade)
    if isinstance(grade, float) and grade.is_integer():
        return int(grade)
    raise InputError(f"grades of {name} must be whole numbers, got {glance(grade)}")
