"""Paths into rows: what they lead to, and which of them rows have.

``a.b`` is a member of an object, ``a[]`` each item of a list, ``a[0]`` and ``a[-1]`` one of them,
``a[role=user]`` those that are objects with that member. Objects and lists may be written in a
text, as cells of tables hold them: as JSON, or as Python prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from rag_eval.plumbing.printed_values import printed_value

EACH: Final = "[]"

_MAX_DEPTH: Final = 4
_decode = msgspec.json.Decoder().decode
# Other brackets are part of a name.
_SELECTOR: Final = re.compile(r"\[(|-?[0-9]{1,9}|[^\[\]=]+=[^\[\]]*)\]")


class Those(NamedTuple):
    """A step to the items of a list that have a member of a value."""

    member: str
    value: str


Steps: TypeAlias = "tuple[str | int | Those, ...]"


def steps_of(path: str) -> Steps:
    """``docs[].text`` -> ``docs``, ``[]``, ``text``."""
    steps: list[str | int | Those] = []
    for number, part in enumerate(_SELECTOR.split(path)):
        if number % 2 == 0:
            steps += [name for name in part.split(".") if name]
        elif not part:
            steps.append(EACH)
        elif "=" in part:
            member, _, value = part.partition("=")
            steps.append(Those(member.strip(), value.strip()))
        else:
            steps.append(int(part))
    return tuple(steps)


def value_at(value: Any, steps: Steps) -> Any:
    """What is at the end of the steps; None if they lead nowhere."""
    for number, step in enumerate(steps):
        is_member = isinstance(step, str) and step != EACH
        if isinstance(value, str):
            held = held_in(value)
            value = held if isinstance(held, dict if is_member else list) else value
        if is_member:
            if not isinstance(value, dict):
                return None
            value = value.get(step)
            continue
        if not isinstance(value, (list, tuple)):
            return value if step == EACH else None
        if isinstance(step, int):
            value = value[step] if -len(value) <= step < len(value) else None
            continue
        rest = steps[number + 1 :]
        if isinstance(step, Those):
            value = [
                item
                for item in value
                if isinstance(item, dict) and str(item.get(step.member)) == step.value
            ]
            if not rest or not isinstance(rest[0], str):
                continue
            rest = rest[1:] if rest[0] == EACH else rest
        return [value_at(item, rest) if isinstance(item, dict) else item for item in value]
    return value


def held_in(text: str) -> Any:
    """The list or object that a text is the print of, by JSON or by Python; else None."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("[]", "{}"):
        return None
    try:
        found = _decode(stripped)
    except (ValueError, RecursionError):
        try:
            found = printed_value(stripped)
        except ValueError:
            return None
    return found if isinstance(found, (list, dict)) else None


def listed_path(path: str) -> str:
    """The path of a column that a path selects items of: ``a[role=user][-1].b`` -> ``a[].b``."""
    listed = _SELECTOR.sub(EACH, path)
    while EACH + EACH in listed:
        listed = listed.replace(EACH + EACH, EACH)
    return listed


def paths_of_rows(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The paths of all rows together, as ``field_map`` takes them.

    Each path comes once, in the order of first appearance, an object before its members. Members
    of objects in a list are ``name[].member``; no path has more than four names.
    """
    found: dict[str, None] = {}
    for row in rows:
        _add_paths(row, "", 1, found)
    return list(found)


def paths_in_cells(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Per column whose cells hold lists or objects as texts, the paths to their members."""
    held: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in rows:
        for name in [*held]:
            cell = row.get(name)
            if cell is None or (isinstance(cell, str) and not cell):
                continue
            found = held_in(cell) if isinstance(cell, str) else None
            if found is None:
                del held[name]  # a text among them shows that all are texts
            else:
                held[name].append({name: found})
    found_paths = {name: paths_of_rows(cells)[1:] for name, cells in held.items()}
    return {name: paths for name, paths in found_paths.items() if paths}


def _add_paths(item: dict[str, Any], prefix: str, depth: int, found: dict[str, None]) -> None:
    for key, value in item.items():
        path = f"{prefix}{key}"
        found[path] = None
        if depth == _MAX_DEPTH:
            continue
        if isinstance(value, dict):
            _add_paths(value, f"{path}.", depth + 1, found)
        elif isinstance(value, list):
            for member in value:
                if isinstance(member, dict):
                    _add_paths(member, f"{path}{EACH}.", depth + 1, found)
