"""Regtrace's golden sets: which are sound, and where the others are not."""

from __future__ import annotations

import re
from typing import Any

from rag_eval.golden import load_golden_dataset, validate_golden_set
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

VECTORS = cases("regtrace.validate_golden_set")


def dotted(place: str) -> str:
    return re.sub(r"\[(\d+)\]", r".\1", place)


@every_row("case", VECTORS, ids=lambda case: case["id"])
def test_validate_golden_set(case: dict[str, Any]) -> None:
    data, expected = case["args"]["data"], case["expected"]
    faults = validate_golden_set(data)
    wanted = sorted(dotted(place) for place in expected.get("error_fields", []))
    assert sorted({dotted(fault.place) for fault in faults}) == wanted
    assert (not faults) is expected["success"]
    if expected["success"]:
        weights = [loaded.weight for loaded in load_golden_dataset(data)]
        assert same(weights, expected["weights"])
