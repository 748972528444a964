"""Which run Regtrace takes as the baseline, and how it names a branch."""

from __future__ import annotations

from typing import Any, NamedTuple

from rag_eval.runs.baselines import find_baseline, newest_first
from rag_eval.runs.git_state import detect_branch, sanitize_branch
from tests.conformance.other_tools import cases
from tests.tables import every_row


class Record(NamedTuple):
    run_id: str
    created_at: str
    status: str | None
    branch: str | None


def record(value: dict[str, Any]) -> Record:
    return Record(value["run_id"], value["timestamp"], value["status"], value.get("branch"))


def ids(case: dict[str, Any]) -> str:
    return str(case["id"])


@every_row("case", cases("regtrace.find_baseline"), ids=ids)
def test_find_baseline(case: dict[str, Any]) -> None:
    args = dict(case["args"])
    records = [record(each) for each in args.pop("records")]
    found = find_baseline(records, **args)
    assert (found and found.run_id) == case["expected"]["run_id"]
    assert [each.run_id for each in newest_first(records)] == case["expected"]["listed"]


@every_row("case", cases("regtrace.detect_branch"), ids=ids)
def test_detect_branch(case: dict[str, Any]) -> None:
    assert detect_branch(case["args"]["env"]) == case["expected"]


@every_row("case", cases("regtrace.sanitize_branch"), ids=ids)
def test_sanitize_branch(case: dict[str, Any]) -> None:
    assert sanitize_branch(case["args"]["branch"]) == case["expected"]
