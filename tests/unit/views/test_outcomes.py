"""What a test report says of gates and rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rag_eval.gating.limits import Gates, check_gates
from rag_eval.gating.verdicts import BaselineVerdict, Finding, GateReport
from rag_eval.inputs.blocks import RowFault
from rag_eval.results.row import EvalSignal
from rag_eval.scoring.evaluation import evaluate
from rag_eval.scoring.evaluator import evaluate_batch
from rag_eval.views.findings import row_findings
from rag_eval.views.making import view_of_batch
from rag_eval.views.outcomes import (
    FailedCheck,
    Outcome,
    gate_outcomes,
    row_outcomes,
    run_outcomes,
    run_properties,
    verdict_outcomes,
    worst_first,
)
from rag_eval.views.run_view import RunView
from tests.run_views import BAD, GOOD, view_of
from tests.tables import every_row

MUTE = {"id": "mute", "question": "red fox", "answer": "!!!", "contexts": ["red fox."]}


def dead_judge(prompt: str) -> str:
    return "I would rather not."


def judged(**options: Any) -> RunView:
    batch = evaluate_batch([GOOD], ["faithfulness"], mode="llm", judge=dead_judge, **options)
    gates = check_gates(batch, Gates(min_mean={"faithfulness": 0.5}), 0.05)
    return view_of_batch(batch, source="s.jsonl", gates=gates)


def statuses(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.name, outcome.status) for outcome in outcomes]


def test_a_failed_gate_is_a_failure_and_a_dead_judge_an_error() -> None:
    found = run_outcomes(judged())
    assert statuses(found) == [
        ("min_mean faithfulness", "failed"),
        ("max_judge_failures", "error"),
        ('row 1 ("good")', "error"),
    ]
    assert found[1].message == "share of failed judgements 1.00 (1/1) is above 0.00"
    assert found[2].message == (
        "faithfulness was not judged: judge unparsed (the reply holds no JSON object)"
    )
    assert found[2].checks == (FailedCheck("judge", found[2].message),)
    assert found[2].details == (
        "faithfulness: warning: the judge failed: the reply holds no JSON object",
    )


def test_a_row_that_failed_names_each_metric_with_what_was_found_and_wanted() -> None:
    good, bad = row_outcomes(view_of())
    assert good == Outcome(
        group="data/samples.jsonl",
        name='line 1 ("good")',
        status="passed",
        path="data/samples.jsonl",
        line=1,
        id="good",
    )
    assert bad.status == "failed"
    assert bad.message == ("faithfulness 0.00 is below 0.70; hallucination_rate 0.00 is below 0.70")
    assert [check.check for check in bad.checks] == ["faithfulness", "hallucination_rate"]
    assert (bad.path, bad.line, bad.id) == ("data/samples.jsonl", 2, "bad")
    assert any("“A blue whale sings.”" in line for line in bad.details)


def test_where_lower_is_better_a_row_fails_above_its_threshold() -> None:
    view = view_of(
        metrics=["unsupported_numbers"],
        profile="grounded",
        thresholds={"unsupported_numbers": 0.4},
        composite_threshold=0,
    )
    assert row_outcomes(view)[1].message == "unsupported_numbers 1.00 is above 0.40"


def test_numbers_that_look_alike_are_told_apart() -> None:
    view = view_of([BAD], ["faithfulness"], thresholds={"faithfulness": 0.001})
    assert row_outcomes(view)[0].message == "faithfulness 0.000 is below 0.001"


def test_a_row_that_fails_by_its_composite_alone_says_so() -> None:
    view = view_of([BAD], ["faithfulness"], thresholds={"faithfulness": 0}, composite_threshold=0.5)
    (found,) = row_outcomes(view)
    assert (found.status, found.message) == ("failed", "composite 0.00 is below its threshold")
    assert found.checks[0].check == "composite"


def test_a_row_with_nothing_to_measure_is_skipped_and_never_a_failure() -> None:
    (found,) = row_outcomes(view_of([GOOD], ["context_recall"], allow_missing=True))
    assert found.status == "skipped"
    assert found.message == "nothing was measured: missing field"
    assert found.details == ()
    (found,) = row_outcomes(
        view_of([MUTE], ["faithfulness", "context_recall"], profile="grounded", allow_missing=True)
    )
    assert found.message == "nothing was measured: missing field, nothing to measure"


def test_a_row_that_was_measured_in_part_is_not_skipped() -> None:
    (found,) = row_outcomes(view_of([GOOD], ["faithfulness", "context_recall"], allow_missing=True))
    assert (found.status, found.message) == ("passed", "")


def test_a_row_that_failed_and_that_a_judge_failed_on_is_a_failure() -> None:
    view = judged()
    result = view.rows[0].result
    bad = view_of([BAD], ["hallucination_rate"]).rows[0].result
    both = replace(result, metrics=type(result.metrics)({**result.metrics, **bad.metrics}))
    (found,) = row_outcomes(replace(view, rows=(replace(view.rows[0], result=both),)))
    assert found.status == "failed"
    assert [check.check for check in found.checks] == ["hallucination_rate", "judge"]


def test_rows_that_could_not_be_read_are_errors_with_their_lines() -> None:
    faults = (RowFault(7, 'line 7 ("x")', "answer must be a string, got int"),)
    view = replace(view_of(path="s.jsonl"), faults=faults, n_skipped=3)
    found = run_outcomes(view)[-1]
    assert (found.name, found.status) == ('line 7 ("x")', "error")
    assert found.message == "cannot be scored: answer must be a string, got int"
    assert (found.path, found.line) == ("s.jsonl", 7)
    assert found.checks[0].check == "unreadable"
    # An element of an array has no line, and a pattern or standard input is no file.
    place = replace(faults[0], name="row 8")
    assert row_outcomes(replace(view, faults=(place,)))[-1].line is None
    for source in ("*.jsonl", "-", ""):
        fault = row_outcomes(replace(view, source=source))[-1]
        assert (fault.path, fault.line) == (None, None)


def test_a_run_that_was_interrupted_is_an_error() -> None:
    found = run_outcomes(replace(view_of([GOOD]), interrupted=True, passed=False))
    assert ("whole run", "error") in statuses(found)


def test_properties_say_how_many_rows_of_how_many_are_listed() -> None:
    view = view_of([GOOD, BAD])
    found = run_properties(replace(view, rows=view.rows[:1], n_skipped=4))
    assert (found["rows.listed"], found["rows.total"]) == ("1", "2")
    assert (found["rows.passed"], found["rows.unreadable"]) == ("1", "4")
    assert found["signature"].startswith("overlap:1|")
    assert found["command"] == "rag-eval run data/samples.jsonl"


def test_worst_first_keeps_the_order_of_equals() -> None:
    found = [
        Outcome(group="g", name=str(number), status=status)
        for number, status in enumerate(("passed", "error", "failed", "skipped", "failed"))
    ]
    assert [outcome.name for outcome in worst_first(found)] == ["2", "4", "1", "3", "0"]


def test_gates_that_held_have_no_message() -> None:
    batch = evaluate_batch([GOOD], ["faithfulness"])
    (found,) = gate_outcomes(check_gates(batch, Gates(min_pass_rate=1), 0.05))
    assert found == Outcome(group="gates", name="min_pass_rate", status="passed")


# --------------------------------------------------------------------------- against baselines


def test_findings_are_gates_of_a_run_and_so_is_a_verdict_that_fails_by_all_of_them() -> None:
    risen = replace(finding(False), metric="hallucination_rate", change=-0.2, margin=0.1)
    fell = replace(risen, metric="noise_sensitivity", change=0.2)
    verdict = BaselineVerdict(
        name="main.json",
        kind="file",
        status="CLEAN",
        passed=False,
        reason="all together",
        findings=(finding(True), replace(risen, held=True)),
    )
    report = GateReport(
        name="new",
        policy="no-regression",
        status="CLEAN",
        passed=False,
        reason="all together",
        baselines=(verdict, replace(verdict, findings=(finding(True), risen, fell))),
    )
    assert [
        (gate.gate, gate.metric_id, gate.held, gate.found, gate.wanted)
        for gate in report.baseline_gates
    ] == [
        ("regression", "faithfulness", True, None, 0.0),
        ("regression", "hallucination_rate", True, -0.2, -0.1),
        ("regression", None, False, None, 0.0),
        ("regression", "faithfulness", True, None, 0.0),
        ("regression", "hallucination_rate", False, -0.2, -0.1),
        ("regression", "noise_sensitivity", False, 0.2, 0.1),
    ]
    assert report.baseline_gates[2].message == "CLEAN: all together"


def finding(held: bool, slice: str | None = None) -> Finding:
    status = "CLEAN" if held else "REGRESSION"
    return Finding(
        metric="faithfulness", slice=slice, status=status, held=held, message=f"it {status}"
    )


def report_of(passed: bool, *findings: Finding, baseline_passed: bool | None = None) -> GateReport:
    verdict = BaselineVerdict(
        name="main.json",
        kind="file",
        status="UNDERPOWERED",
        passed=passed if baseline_passed is None else baseline_passed,
        reason="too few rows",
        findings=findings,
    )
    return GateReport(
        name="today",
        policy="no-regression",
        status="UNDERPOWERED",
        passed=passed,
        reason="too few rows",
        baselines=(verdict,),
    )


def test_each_finding_against_a_baseline_is_one_outcome() -> None:
    found = verdict_outcomes(report_of(False, finding(True), finding(False, "topic=history")))
    assert statuses(found) == [
        ("faithfulness", "passed"),
        ("faithfulness [topic=history]", "failed"),
    ]
    assert [outcome.group for outcome in found] == ["against main.json"] * 2
    assert found[1].message == "it REGRESSION"


@every_row("findings", [(), (finding(True),)])
def test_a_verdict_that_fails_by_no_single_finding_is_a_failure_all_the_same(
    findings: tuple[Finding, ...],
) -> None:
    found = verdict_outcomes(report_of(False, *findings))
    assert (found[0].name, found[0].status) == ("UNDERPOWERED", "failed")
    assert found[0].message == "too few rows"
    assert len(found) == 1 + len(findings)


def test_a_failed_report_is_never_all_green() -> None:
    found = verdict_outcomes(report_of(False, finding(True), baseline_passed=True))
    assert statuses(found) == [
        ("no-regression UNDERPOWERED", "failed"),
        ("faithfulness", "passed"),
    ]


def test_a_verdict_without_baseline_or_guard_is_one_outcome() -> None:
    alone = replace(report_of(True), baselines=())
    assert statuses(verdict_outcomes(alone)) == [("no-regression UNDERPOWERED", "passed")]
    failed = replace(alone, passed=False)
    assert statuses(verdict_outcomes(failed)) == [("no-regression UNDERPOWERED", "failed")]


# ------------------------------------------------------------------------------------- findings


def test_findings_tell_a_sentence_once() -> None:
    view = view_of([BAD], ["faithfulness"])
    found = row_findings(view.rows[0].result)
    assert "answer" not in found  # signals of faithfulness quote its sentences
    assert sum("blue whale" in line for lines in found.values() for line in lines) == 1


def test_sentences_are_told_where_no_signal_quotes_them() -> None:
    result = view_of([BAD], ["faithfulness"]).rows[0].result
    silent = replace(result.metrics.faithfulness, signals=())
    quiet = replace(result, metrics=type(result.metrics)({"faithfulness": silent}))
    assert row_findings(quiet)["answer"] == [
        "not supported (0.00): “A blue whale sings.”",
        "not supported (0.00): “It is 50 years old.”",
    ]
    fine = replace(silent, passed=True)
    assert row_findings(replace(result, metrics=type(result.metrics)({"faithfulness": fine}))) == {}


def test_sentences_of_answer_and_ground_truth_are_told_with_what_is_missing() -> None:
    sample = {
        "question": "Who led the trial?",
        "answer": "Ellen Marsh led the trial. Tom Baker paid 1,300 patients.",
        "contexts": ["Ellen Marsh led the trial."],
        "groundTruth": "Ellen Marsh led it. Nobody sings in Rome.",
    }
    result = evaluate(sample, ["faithfulness", "context_recall"], profile="grounded")
    silent = {
        name: replace(metric, signals=(), passed=False) for name, metric in result.metrics.items()
    }
    assert row_findings(replace(result, metrics=type(result.metrics)(silent))) == {
        "answer": [
            "not supported (0.00): “Tom Baker paid 1,300 patients.”; numbers in no context: 1300; "
            "names in no context: baker"
        ],
        "ground truth": [
            "not supported (0.08): “Nobody sings in Rome.”; names in no context: rome"
        ],
    }


def test_checks_that_failed_are_told_with_what_was_expected() -> None:
    result = view_of([BAD], ["faithfulness"]).rows[0].result
    details = (
        {"check": "format.length", "passed": False, "expected": "3", "actual": "7", "message": "m"},
        {"check": "format.case", "passed": True},
        {"check": "format.end", "passed": False},
        {"check": "format.note"},
        {"check": "format.none", "passed": None},
    )
    metric = replace(result.metrics.faithfulness, signals=(), details=details, passed=True)
    found = row_findings(replace(result, metrics=type(result.metrics)({"faithfulness": metric})))
    assert found == {
        "faithfulness": ["format.length failed, expected 3, actual 7: m", "format.end failed"]
    }


def test_of_many_findings_the_last_says_how_many_more() -> None:
    result = view_of([BAD], ["faithfulness"]).rows[0].result
    signals = tuple(
        EvalSignal(id=str(n), metric_id="faithfulness", severity="info", message=f"m{n}")
        for n in range(11)
    )
    for count, last in ((10, "info: m9"), (11, "+ 2 more")):
        metric = replace(result.metrics.faithfulness, signals=signals[:count], passed=True)
        found = row_findings(
            replace(result, metrics=type(result.metrics)({"faithfulness": metric}))
        )
        assert len(found["faithfulness"]) == 10
        assert found["faithfulness"][-1] == last
