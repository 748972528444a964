"""What the rows of two runs depend on, in; what changed between the runs, in words, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rag_eval.errors import glance
from rag_eval.plumbing.spelling import snake_case

# Options that have a value for each metric or field, and how messages call one.
_EACH: Final = {
    "thresholds": "threshold of",
    "weights": "weight of",
    "calibrations": "calibration of",
    "map": "column of",
}
_OF_METRICS: Final = ("option ", "threshold of ", "weight of ", "calibration of ")
_OF_PROFILE: Final = (*_OF_METRICS, "composite_threshold", "version of the profile", "unicode")


def setting_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """``profile was 'overlap' and is 'grounded'`` for each thing that differs.

    What follows from another profile or from other metrics, such as their thresholds, is left out.
    """
    yield from _changed_files(old.get("input"), new.get("input"))
    before, now = _settings(old), _settings(new)
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if "profile" in names:
        names = [name for name in names if not name.startswith(_OF_PROFILE)]
    if "metrics" in names:
        both = before.keys() & now.keys()
        names = [name for name in names if not name.startswith(_OF_METRICS) or name in both]
    for name in names:
        yield f"{name} was {_value_text(before.get(name))} and is {_value_text(now.get(name))}"


def _settings(made_of: Mapping[str, Any]) -> dict[str, Any]:
    """All settings by the names that messages call them by."""
    signature, options = made_of.get("signature", {}), made_of.get("options", {})
    found = {"version of rag_eval": made_of.get("version"), "output": made_of.get("output")}
    found |= {name: signature.get(name) for name in ("profile", "unicode")}
    found["version of the profile"] = signature.get("version")
    found |= {snake_case(name): value for name, value in options.items() if name not in _EACH}
    found |= {f"option {name}": value for name, value in signature.get("options", {}).items()}
    for name, what in _EACH.items():
        found |= {f"{what} {key}": value for key, value in options.get(name, {}).items()}
    return found


def _changed_files(old: Any, new: Any) -> Iterator[str]:
    """``a.jsonl was changed`` for each, or that they are other files."""
    paths = [
        [one["path"] for one in found] if isinstance(found, list) else found for found in (old, new)
    ]
    if paths[0] != paths[1]:
        yield f"input was {_value_text(paths[0])} and is {_value_text(paths[1])}"
    elif old != new:
        files = zip(old, new, strict=True)
        yield from (f"{one['path']} was changed" for one, other in files if one != other)


def _value_text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return glance(value, 200)
