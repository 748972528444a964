"""Golden vectors of Regtrace, omk, HazelJS eval and Mastra's code scorers, and how to compare.

Floats agree to 1e-9; numbers that are not finite are the strings "NaN", "Infinity", "-Infinity".
"""

from __future__ import annotations

import functools
import gzip
import json
import math
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@functools.cache
def _lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(_FOLDER / name, "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


ASKED_FOR: set[str] = set()
"""The functions whose cases some test has loaded."""


def cases(function: str) -> list[dict[str, Any]]:
    """The cases of one function, ``omk.bleu`` and the like: ``id``, ``args``, ``expected``."""
    system, _, name = function.partition(".")
    found = [c for c in _lines("vectors.jsonl.gz") if (c["system"], c["fn"]) == (system, name)]
    assert found, f"no vectors of {function}"
    ASKED_FOR.add(function)
    return found


def functions() -> list[str]:
    """The names of all functions, each once, in file order."""
    return list(dict.fromkeys(f"{c['system']}.{c['fn']}" for c in _lines("vectors.jsonl.gz")))


def mastra_cases(*scorers: str) -> list[dict[str, Any]]:
    """The cases of some of Mastra's code scorers, ``content-similarity`` and the like."""
    found = [case for case in _lines("mastra_code.jsonl.gz") if case["scorer"] in scorers]
    assert found, f"no vectors of {scorers}"
    return found


def same(found: Any, expected: Any, tolerance: float = 1e-9) -> bool:
    """Whether two JSON values agree, floats to a tolerance, relative or absolute."""
    expected = _SPECIAL.get(expected, expected) if isinstance(expected, str) else expected
    if isinstance(expected, bool) or isinstance(found, bool):
        return found is expected
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        if math.isnan(expected):
            return math.isnan(found)
        return math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            same(found[key], value, tolerance) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(
            same(one, other, tolerance) for one, other in zip(found, expected, strict=True)
        )
    return bool(found == expected)
