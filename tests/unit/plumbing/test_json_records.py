"""Records as JSON values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag_eval.plumbing.json_records import JsonRecord, record_json


@dataclass(frozen=True, slots=True)
class Inner(JsonRecord):
    p_two_sided: float


@dataclass(frozen=True, slots=True)
class Outer(JsonRecord):
    n_rows: int
    inner: Inner | None
    each: tuple[Inner, ...]
    by_name: dict[str, float]


def test_fields_in_their_order_under_camel_case_names() -> None:
    found = Outer(2, Inner(math.nan), (Inner(0.5),), {"a_b": math.nan}).to_dict()
    assert found == {
        "nRows": 2,
        "inner": {"pTwoSided": None},
        "each": [{"pTwoSided": 0.5}],
        "byName": {"a_b": None},
    }
    assert list(found) == ["nRows", "inner", "each", "byName"]
    assert Outer(2, None, (), {}).to_dict()["inner"] is None


def test_fields_that_are_left_out() -> None:
    record = Outer(2, None, (), {})
    assert record_json(record, without=("inner", "by_name")) == {"nRows": 2, "each": []}
