"""GitLab's code quality report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_eval.inputs.blocks import RowFault
from rag_eval.reports.code_hosts import code_quality
from rag_eval.views.outcomes import Outcome, row_outcomes, run_outcomes
from tests.run_views import BAD, GOOD, HOSTILE_TEXTS, hostile_view, view_of


def read(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    found = json.loads(code_quality(outcomes))
    assert isinstance(found, list)
    return found


def test_there_is_a_finding_for_each_metric_that_a_row_failed_by() -> None:
    gate, *rows = read(run_outcomes(view_of()))
    assert (gate["check_name"], gate["severity"]) == ("rag-eval gate min_pass_rate", "blocker")
    assert [row["check_name"] for row in rows] == [
        "rag-eval faithfulness",
        "rag-eval hallucination_rate",
    ]
    assert rows[0] == {
        "description": 'line 2 ("bad"): faithfulness 0.00 is below 0.70',
        "check_name": "rag-eval faithfulness",
        "fingerprint": rows[0]["fingerprint"],
        "severity": "major",
        "location": {"path": "data/samples.jsonl", "lines": {"begin": 2}},
    }


def test_rows_that_could_not_be_scored_are_critical() -> None:
    fault = RowFault(3, "line 3", "no JSON")
    found = read(run_outcomes(replace(view_of([GOOD]), faults=(fault,))))
    assert [(each["severity"], each["location"]["lines"]["begin"]) for each in found] == [
        ("critical", 3)
    ]


def test_what_passed_or_was_skipped_is_no_finding() -> None:
    assert read(run_outcomes(view_of([GOOD]))) == []
    (skipped,) = row_outcomes(view_of([GOOD], ["context_recall"], allow_missing=True))
    assert skipped.status == "skipped"
    assert read([skipped]) == []


def fingerprints(view: Any) -> dict[str, str]:
    return {each["check_name"]: each["fingerprint"] for each in read(run_outcomes(view))}


def test_a_fingerprint_stays_when_scores_and_lines_change() -> None:
    before = fingerprints(view_of([GOOD, BAD]))
    other = {**BAD, "answer": "Nothing of the kind. It is a red fox, says the owl."}
    after = fingerprints(
        view_of(
            [GOOD, GOOD | {"id": "new"}, other],
            thresholds={
                "faithfulness": 0.99,
                "hallucination_rate": 0.99,
            },
        )
    )
    assert before == after
    moved = fingerprints(view_of([GOOD, BAD], path="other.jsonl"))
    renamed = fingerprints(view_of([GOOD, BAD | {"id": "worse"}]))
    row = "rag-eval faithfulness"
    assert len({before[row], moved[row], renamed[row]}) == 3
    assert re.fullmatch(r"[0-9a-f]{64}", before[row])


def test_findings_of_rows_with_one_id_have_fingerprints_of_their_own() -> None:
    found = read(run_outcomes(view_of([BAD, BAD, BAD])))
    assert len({each["fingerprint"] for each in found}) == len(found) == 7


def test_paths_are_those_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path, shown in (
        (str(tmp_path / "data" / "s.jsonl"), "data/s.jsonl"),
        ("./data//s.jsonl", "data/s.jsonl"),
        ("/elsewhere/s.jsonl", "/elsewhere/s.jsonl"),
        ("a\x1b\u202e.jsonl", "a\\x1b\\u202e.jsonl"),
    ):
        found = read(run_outcomes(view_of([BAD], path=path)))
        assert {each["location"]["path"] for each in found} == {shown}


def test_rows_without_a_file_still_have_a_place() -> None:
    found = read(run_outcomes(view_of([BAD], path=None)))
    assert {(each["location"]["path"], each["location"]["lines"]["begin"]) for each in found} == {
        ("samples", 1)
    }


def test_hostile_texts_are_strings_of_strict_json() -> None:
    found = read(run_outcomes(hostile_view()))
    assert len(found) > len(HOSTILE_TEXTS)
    for each in found:
        assert set(each) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert (
            each["description"].isprintable()
            or "\u200c" in each["description"]
            or ("\u200d" in each["description"])
        )
        assert len(each["description"]) <= 500
