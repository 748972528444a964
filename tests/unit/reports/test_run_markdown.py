"""The Markdown of a run: what it says, and that no text of data has a meaning in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rag_eval.comparing.two_runs import compare
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.inputs.blocks import RowFault
from rag_eval.reports.run_markdown import run_markdown
from rag_eval.samples import NullReason
from rag_eval.scoring.evaluator import evaluate_batch
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import RunView
from tests.run_views import BAD, GOOD, HOSTILE_TEXTS, hostile_view, view_of
from tests.unit.reports.test_markdown_text import REFERENCES, rendered


def plain(view: RunView) -> str:
    return run_markdown(view).replace("\\", "").replace("&#8203;", "")


def test_it_says_the_verdict_its_reason_and_each_metric() -> None:
    lines = plain(view_of()).splitlines()
    assert lines[0] == "## rag-eval: failed"
    assert "**Failed:** pass rate 0.50 (1/2) is below 1.00" in lines
    assert "2 samples from data/samples.jsonl, 1 passed." in lines
    assert "| faithfulness | 0.50 | 0.09 to 0.91 | 2/2 | 50 % | 0.7 |" in lines
    assert any(line.startswith("| **composite** | 0.50 |") for line in lines)
    assert any(line.startswith("| hallucination_rate (1 = none) | 0.50 |") for line in lines)


def test_a_failed_row_opens_to_its_texts_and_to_findings_by_metric() -> None:
    text = plain(view_of())
    (row,) = text.split("### Failed rows")[1].split("<summary><b>")[1:]
    assert row.startswith("line 2 (&quot;bad&quot;)</b> faithfulness 0.00 is below 0.70; ")
    assert "- question: red fox\n- answer: A blue whale sings. It is 50 years old.\n" in row
    heads = [part.partition("</summary>")[0] for part in row.split("<summary>")[1:]]
    assert heads == ["faithfulness 0.00, failed", "hallucination_rate 0.00, failed"]
    assert "- critical: Answer sentence appears unsupported by any context" in row
    assert "“A blue whale sings.”" in row


def test_of_a_run_that_passed_no_row_is_shown() -> None:
    text = run_markdown(view_of([GOOD]))
    assert text.startswith("## rag-eval: passed\n\n**Passed:** ")
    assert "<details>" not in text
    assert "Rows that failed" not in text


def test_without_a_gate_there_is_no_verdict() -> None:
    text = run_markdown(replace(view_of(), gates=(), passed=None))
    assert text.startswith("## rag-eval: no verdict\n\n**No verdict:** no gate set: add ")
    assert "**failed**" not in text


def test_every_gate_is_listed_those_that_failed_first() -> None:
    batch = evaluate_batch([GOOD, BAD], ["faithfulness"])
    gates = check_gates(batch, Gates(min_pass_rate=0.1, min_mean={"faithfulness": 0.9}), 0.05)
    text = plain(view_of_batch(batch, gates=gates))
    assert "**Failed:** faithfulness mean 0.50 (2/2) is below 0.90" in text
    assert text.index("- **failed**: faithfulness mean") < text.index("- passed: pass rate 0.50")


def test_the_worst_rows_are_shown_and_the_others_counted() -> None:
    words = ["owl", "bear", "wolf", "hare", "lynx", "seal", "deer", "goat"]
    rows = [
        GOOD | {"id": f"g{n}", "answer": f"red fox {' '.join(words[:n])}."} for n in range(1, 9)
    ]
    view = view_of([GOOD, *rows], ["faithfulness"], thresholds={"faithfulness": 1})
    composites = [row.result.composite_score for row in view.rows]
    assert composites == sorted(composites, reverse=True)
    assert composites[-4] > composites[-1]
    text = run_markdown(view, most_rows=3)
    assert "\n3 of 8 failed rows, lowest composite scores first." in text
    shown = [part.partition("</b>")[0] for part in text.split("<summary><b>")[1:]]
    assert shown == [f"line {n + 1} (&quot;g{n}&quot;)" for n in (8, 7, 6)]
    part = replace(view, rows=view.rows[4:])
    assert (
        "5 failed rows, lowest composite scores first. 5 of 9 rows were examined."
        in run_markdown(part)
    )


def test_rows_that_failed_come_first_then_errors_and_last_those_without_a_composite() -> None:
    view = view_of([GOOD, BAD, BAD | {"id": "null"}])
    good, bad, null = view.rows
    metric = good.result.metrics.faithfulness
    dead = replace(metric, score=None, passed=None, null_reason=NullReason.JUDGE_FAILED)
    metrics = type(good.result.metrics)({**good.result.metrics, "faithfulness": dead})
    error = replace(good, result=replace(good.result, metrics=metrics, composite_score=-1.0))
    null = replace(null, result=replace(null.result, composite_score=None))
    fault = RowFault(4, "line 4", "answer is missing")
    text = run_markdown(replace(view, rows=(null, error, bad), faults=(fault,)))
    shown = [part.partition("</b>")[0] for part in text.split("<summary><b>")[1:]]
    assert [name.partition(" (")[0] for name in shown] == ["line 2", "line 3", "line 1", "line 4"]


def test_findings_of_metrics_that_failed_come_first() -> None:
    text = plain(view_of([BAD], thresholds={"faithfulness": 0}))
    (row,) = text.split("<summary><b>")[1:]
    heads = [part.partition("</summary>")[0] for part in row.split("<summary>")[1:]]
    assert heads == ["hallucination_rate 0.00, failed", "faithfulness 0.00, passed"]


def test_a_mean_is_over_the_rows_that_have_a_score() -> None:
    text = run_markdown(view_of([GOOD | {"groundTruth": "red fox."}, BAD], ["context_recall"]))
    (row,) = (line for line in text.splitlines() if line.startswith("| context"))
    cells = row.split(" | ")
    assert (cells[0], cells[1], cells[3]) == (
        "| context\\_recall",
        "1.00 (50 % not measured)",
        "1/2",
    )


def test_slices_are_cut_and_their_values_are_texts() -> None:
    rows = [GOOD | {"id": str(n), "topic": f"a|<b>{n}"} for n in range(35)]
    text = run_markdown(view_of_batch(evaluate_batch(rows, ["faithfulness"]), slice_by=["topic"]))
    assert text.count("| topic = a\\|\\<b\\>") == 30
    assert "\n5 more slices are not shown.\n" in text
    brief = run_markdown(
        view_of_batch(evaluate_batch(rows[:30], ["faithfulness"]), slice_by=["topic"])
    )
    assert "more slices" not in brief


def test_rows_that_could_not_be_read_are_among_those_that_failed() -> None:
    fault = RowFault(3, 'line 3 ("x")', "answer is missing")
    text = run_markdown(replace(view_of([GOOD]), faults=(fault,), n_skipped=1))
    assert "; 1 skipped as invalid." in text
    assert "<b>line 3 (&quot;x&quot;)</b> cannot be scored: answer is missing</summary>" in text


def test_comparison_slices_and_how_to_run_it_again() -> None:
    rows = [GOOD | {"id": str(n), "metadata": {"topic": f"t{n % 2}"}} for n in range(4)]
    old, new = (evaluate_batch(rows[:k] + rows[k:], ["faithfulness"]) for k in (1, 2))
    view = view_of_batch(new, slice_by=["topic"])
    view = replace(view, comparison=compare(old, new), command="rag-eval run s.jsonl")
    text = plain(view)
    assert "### Comparison with the baseline" in text
    assert "all scores of all gating metrics are identical in both runs" in text
    assert "| topic = t0 | 2 | 2 | 1.00 | 1.00 |" in text
    assert "```text\noverlap:1|unicode:" in text
    assert text.endswith("```text\nrag-eval run s.jsonl\n```\n")


# ------------------------------------------------------------------------------- hostile texts


@pytest.fixture(scope="module")
def hostile() -> str:
    return run_markdown(hostile_view(), most_rows=1000)


def test_no_element_comes_from_data(hostile: str) -> None:
    found = Counter(rendered(hostile).names)
    allowed = {"h2", "h3", "p", "strong", "b", "details", "summary", "ul", "li", "pre", "code"}
    table = {"table", "thead", "tbody", "tr", "th", "td"}
    assert set(found) == allowed | table
    n_rows = len(HOSTILE_TEXTS)
    assert (found["h2"], found["h3"], found["pre"], found["table"]) == (1, 1, 2, 1)
    assert found["b"] == n_rows
    assert found["details"] == found["summary"] >= 2 * n_rows
    # A list of texts for each row, one of findings in each of its collapsibles, and the notes.
    assert found["ul"] <= found["details"] + 1


def test_a_command_of_backticks_alone_does_not_end_its_block() -> None:
    found = rendered(run_markdown(replace(view_of([GOOD]), command="`````")))
    assert found.names.count("pre") == 2


def test_no_reference_comes_from_data(hostile: str) -> None:
    text = rendered(hostile).text
    assert "rag-eval: failed" in text
    found = REFERENCES.search(text)
    assert found is None, text[max(0, found.start() - 40) : found.end() + 40]


def test_its_collapsibles_close_where_they_should(hostile: str) -> None:
    depth = 0
    for line in hostile.splitlines():
        depth += (line == "<details>") - (line == "</details>")
        assert 0 <= depth <= 2
        # What opens or closes stands alone: all else in the line would not be read as Markdown.
        assert (
            line.startswith(("<details>", "</details>", "<summary>"))
            or "<" not in (line.replace("\\<", ""))
            or line.startswith("rag-eval run ")
        )
    assert depth == 0


def test_it_is_of_bounded_length_whatever_the_data() -> None:
    long = {"id": "i" * 9_999, "question": "q" * 99_999, "answer": "a. " * 9_999, "contexts": ["c"]}
    text = run_markdown(view_of([long] * 50))
    assert len(text) < 20 * 20_000
