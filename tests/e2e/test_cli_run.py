"""``rag-eval run`` from the outside: what it prints, its verdict, and large samples."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

import rag_eval
from rag_eval.jobs.file_run import run_file
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.reports.console import console_for
from rag_eval.reports.run import print_run
from rag_eval.results.row import ByMetric
from tests.run_command import BAD, FAITH, FIELDS, GOOD, HANDBOOK, handbook_rows, run, samples

NO_GATE = (
    "no gate set: add --profile grounded --min-mean faithfulness=0.7, or compare runs with "
    "rag-eval gate"
)
INTERVAL = ("[0.05,", "0.20]")


def test_table() -> None:
    done = run(HANDBOOK)
    assert done.exit_code == 0
    fields, *notes = done.stderr.splitlines(keepends=True)
    assert fields == (
        "fields: question=question, answer=answer, contexts=contexts, ground truth=groundTruth\n"
    )
    assert notes[0].startswith("note: these are the scores of rag-eval-node-ts (--profile overlap)")
    assert run(HANDBOOK, "--profile", "overlap").stderr == fields
    lines = done.stdout.splitlines()
    heads = "metric mean 95 % interval scored pass rate threshold"
    assert " ".join(lines[0].split()) == heads
    recall = next(line for line in lines if line.startswith("context_recall")).split()
    assert recall == ["context_recall", "0.10", *INTERVAL, "61/66", "0.09", "0.70"]
    # Two rows of 66 have another score than 0.
    relevance = next(line for line in lines if line.startswith("context_relevance"))
    assert " ".join(relevance.split()[1:5]) == "0.01 [too few] 66/66"
    assert "[too few]: too few scores differ for a reliable interval" in lines
    assert (
        "66 samples scored; a null lowers a metric's pass rate but does not by itself fail a row"
        in lines
    )
    assert lines[-1] == NO_GATE


def test_every_sample_has_to_pass_where_that_is_asked_for() -> None:
    done = run(HANDBOOK, "--min-pass-rate", 1)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "FAIL  pass rate 0.00 (0/66) is below 1.00"
    assert done.stdout.splitlines()[0].split()[-1] == "verdict"


def test_the_table_shows_the_numbers_of_the_library() -> None:
    result = rag_eval.evaluate_batch(handbook_rows())
    summary = json.loads(run(HANDBOOK, "--format", "json").stdout)
    expected = result.summary_dict()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert summary[name] == expected[name]
    assert (summary["nRows"], summary["nSkipped"], summary["verdict"]) == (66, 0, None)
    assert summary["gates"] == []


def test_passing(good: Path) -> None:
    done = run(good, *FAITH, "--min-mean", "faithfulness=1")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "PASS  faithfulness mean 1.00 (2/2) is at least 1.00"
    assert "PASS" in next(line for line in done.stdout.splitlines() if line.startswith("faith"))


def test_the_composite_row_has_the_verdict_of_the_pass_rate(mixed: Path) -> None:
    """Regression: it said FAIL if only a mean was too low."""

    def verdict(*gates: object) -> str:
        lines = run(mixed, *FAITH, *gates).stdout.splitlines()
        return next(line.split()[-1] for line in lines if line.startswith("composite"))

    mean = ("--min-mean", "faithfulness=0.9")
    assert verdict(*mean) == "–"
    assert verdict(*mean, "--min-pass-rate", 0.5) == "PASS"
    assert verdict("--min-pass-rate", 1) == "FAIL"


def test_gates(mixed: Path) -> None:
    held = run(mixed, *FAITH, "--min-pass-rate", 0.5, "--min-mean", "faithfulness=0.5")
    assert held.exit_code == 0
    failed = run(mixed, *FAITH, "--min-pass-rate", 0.5, "--min-mean", "faithfulness=0.9")
    assert failed.exit_code == 1
    assert failed.stdout.splitlines()[-2:] == [
        "FAIL  faithfulness mean 0.50 (2/2) is below 0.90",
        "PASS  pass rate 0.50 (1/2) is at least 0.50",
    ]


def test_thresholds_and_weights(mixed: Path) -> None:
    low = ("--thresholds", "faithfulness=0,answerRelevance=0", "--min-pass-rate", 1)
    low = (*low, "--composite-threshold", 0)
    two = ("--metrics", "faithfulness,answerRelevance")
    assert run(mixed, *two, *low).exit_code == 0
    assert run(mixed, *two, *low, "--composite-threshold", 0.1).exit_code == 1
    weights = ("--weights", "faithfulness=0", "--format", "json")
    relevance = json.loads(run(mixed, *two, *weights).stdout)
    assert (
        relevance["compositeAggregate"]["mean"]
        == relevance["aggregates"]["answerRelevance"]["mean"]
    )


def test_json_summary_is_one_object(mixed: Path) -> None:
    done = run(mixed, *FAITH, "--format", "json", "--worst", 1, "--min-pass-rate", 1)
    summary = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (summary["verdict"], summary["gates"][0]["held"]) == ("fail", False)
    assert [row["row"] for row in summary["worst"]] == ['line 2 ("b")']
    assert summary["worst"][0]["metrics"]["faithfulness"]["signals"]
    assert "results" not in summary
    assert done.stderr == f"{FIELDS}FAIL  pass rate 0.50 (1/2) is below 1.00\n"
    told = run(mixed, *FAITH, "--format", "json").stderr
    assert told == f"{FIELDS}{NO_GATE}\n"
    assert run(mixed, *FAITH, "--format", "json", "--quiet").stderr == ""


def test_json_lines_are_the_rows(mixed: Path) -> None:
    done = run(mixed, *FAITH, "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [rag_eval.evaluate(row["sample"], ["faithfulness"]).to_dict() for row in rows]
    for row in rows + expected:
        del row["evaluatedAt"], row["durationMs"]
    assert rows == expected
    assert [row["sample"]["id"] for row in rows] == ["a", "b"]


def test_worst_rows(tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", **(BAD if i in (3, 7) else GOOD)} for i in range(3000)]
    done = run(samples(tmp_path / "d.jsonl", *rows), *FAITH, "--worst", 2)
    lines = done.stdout.splitlines()
    assert 'line 4 ("r3")  composite 0.00' in lines
    assert 'line 8 ("r7")  composite 0.00' in lines
    assert any("low context support (overlap=0.000). “blue whale sings.”" in x for x in lines)
    assert "r1" not in done.stdout


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    one = json.loads(run(HANDBOOK, "--format", "json", "--worst", 3).stdout)
    many = json.loads(run(HANDBOOK, "--format", "json", "--worst", 3, "--threads", threads).stdout)
    for summary in (one, many):
        del summary["evaluatedAt"], summary["totalDurationMs"]
        for row in summary["worst"]:
            del row["evaluatedAt"]
    assert one == many


def test_text_of_samples_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    """Rich markup, escape sequences, bidi overrides and surrogates come out as harmless text."""
    text = "[bold red]x[/] :smile: \x1b[31m \u202eevil\u202c \ud800 line\nbreak\r\x07 fox"
    data = samples(tmp_path / "d.jsonl", {**BAD, "id": text, "question": text, "answer": text})
    done = run(data, "--worst", 1)
    assert done.exit_code == 0
    for part in ("\x1b", "\x07", "\u202e", "\r"):
        assert part not in done.stdout
    shown = r"[bold red]x[/] :smile: \x1b[31m \u202eevil\u202c \ud800 line break \x07 fox"
    assert f"question: {shown}" in done.stdout
    missing = run(samples(tmp_path / "e.jsonl", {"id": text}))
    assert "\x1b" not in missing.stderr
    assert missing.stderr.count("\n") == 1


def test_no_colour_in_a_pipe_and_the_width_of_columns() -> None:
    assert "\x1b" not in run(HANDBOOK).stdout
    wide = run(HANDBOOK, env={"COLUMNS": "200"}).stdout
    assert "context_recall" in wide
    for width in ("72", "80", "100"):
        gate = ("--min-mean", "context_recall=0.5")
        table = run(HANDBOOK, *gate, env={"COLUMNS": width}).stdout.split("\n[too few]")[0]
        assert max(map(len, table.splitlines())) <= int(width)
        row = next(line for line in table.splitlines() if line.startswith("context_recall"))
        assert row.split()[1:] == ["0.10", *INTERVAL, "61/66", "0.09", "0.70", "FAIL"]


def test_counts_of_millions_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: numbers were broken in two on a terminal of 80 columns."""
    report = run_file(HANDBOOK, min_mean=dict.fromkeys(METRIC_IDS, 1.0))
    scores = report.result.aggregates
    many = {
        name: replace(scores[name], n=1_000_000, n_rows=1_000_000, null_rate=0.0) for name in scores
    }
    result = replace(report.result, aggregates=ByMetric(many))
    monkeypatch.setenv("COLUMNS", "80")
    text = StringIO()
    print_run(replace(report, result=result), console_for(text))
    lines = text.getvalue().split("\n[too few]")[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(" 1,000,000/1,000,000 " in line for line in lines) == 7
    assert sum(line.split()[-1:] == ["FAIL"] for line in lines) == 7


def test_a_field_to_slice_by_that_no_row_has_is_told(good: Path) -> None:
    page = good.parent / "page.html"
    done = run(good, "--html", page, "--slice-by", "topik", "--profile", "overlap")
    assert "note: no row has the field 'topik' that --slice-by names\n" in done.stderr
    assert "field 'id'" not in run(good, "--html", page, "--slice-by", "id").stderr


@pytest.mark.deep
def test_one_text_of_100_mb(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    with data.open("w") as file:
        text = "the quick brown fox jumps over the lazy dog. " * 2_300_000
        file.write(json.dumps({**GOOD, "answer": text}) + "\n" + json.dumps(GOOD) + "\n")
    assert data.stat().st_size > 100e6
    done = run(data, "--metrics", "answer_relevance", "--format", "json")
    assert json.loads(done.stdout)["nRows"] == 2


def test_100_000_contexts(tmp_path: Path) -> None:
    many = {**GOOD, "contexts": [f"red fox {number}" for number in range(100_000)]}
    done = run(samples(tmp_path / "d.jsonl", many), *FAITH, "--format", "json", "--worst", 1)
    assert json.loads(done.stdout)["aggregates"]["faithfulness"]["mean"] > 0.6


def test_1000_sentences_and_1000_contexts(tmp_path: Path) -> None:
    answer = " ".join(f"The red fox number {number} sleeps here." for number in range(1000))
    contexts = [f"The red fox number {number} sleeps there." for number in range(1000)]
    data = samples(tmp_path / "d.jsonl", {**GOOD, "answer": answer, "contexts": contexts})
    done = run(data, "--format", "json", "--output", tmp_path / "o.json")
    assert json.loads(done.stdout)["aggregates"]["hallucinationRate"]["mean"] == 1
