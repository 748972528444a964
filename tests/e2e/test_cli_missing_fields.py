"""What was not measured does not pass: metrics whose fields a data set lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.text import Text

from rag_eval import compare, evaluate_batch, run_file, score_file
from rag_eval.errors import InputError, NotMeasuredError
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import PROFILE_METRICS, needed_fields
from rag_eval.samples import PROFILES, NullReason
from tests.commands import invoke
from tests.tables import every_row

FULL = {
    "question": "Who wrote Emma?",
    "answer": "Jane Austen wrote Emma.",
    "contexts": ["Emma is a novel by Jane Austen.", "Persuasion was her last novel."],
    "ground_truth": "Jane Austen",
}
NO_TRUTH = {name: value for name, value in FULL.items() if name != "ground_truth"}
MISSPELT = {**{name: FULL[name] for name in ("question", "contexts")}, "anwser": FULL["answer"]}
QUESTION_AND_ANSWER = {name: FULL[name] for name in ("question", "answer")}
NOT_MEASURED = "not measured: context_recall, answer_correctness (no ground truth)"
FIELDS = "fields: question=question, answer=answer, contexts=contexts"
DID_YOU_MEAN = "has no 'answer' field, but it has 'anwser'. Rename it, or pass --map answer=anwser"
COMMANDS = ("run", "score", "validate")


def written(folder: Path, rows: Iterable[Mapping[str, Any]], name: str = "b.jsonl") -> Path:
    path = folder / name
    lines = [json.dumps(row) for row in rows]
    path.write_text(f"[{','.join(lines)}]" if name.endswith(".json") else "\n".join(lines) + "\n")
    return path


def ended(command: str, data: Path, *flags: str) -> tuple[int, str, list[Path]]:
    """Exit code and standard error, and which files are there besides the data."""
    out = {"run": ("--output", data.parent / "out.json"), "score": (data.parent / "out.jsonl",)}
    done = invoke(command, data, *out.get(command, ()), *flags)
    return done.exit_code, done.stderr, sorted(set(data.parent.iterdir()) - {data})


@every_row("command, profile", [(c, p) for c in COMMANDS for p in ("grounded", "overlap")])
def test_a_misspelt_column_is_named_before_anything_is_written(
    command: str, profile: str, tmp_path: Path
) -> None:
    data = written(tmp_path, [MISSPELT] * 3)
    code, text, files = ended(command, data, "--profile", profile)
    assert (code, files) == (2, [])
    assert f"error: {data} {DID_YOU_MEAN}" in " ".join(text.split())


@every_row("name", ["b.json", "b.csv", "b.parquet"])
def test_files_of_any_kind_name_the_column(name: str, tmp_path: Path) -> None:
    data = tmp_path / name
    if name == "b.json":
        written(tmp_path, [MISSPELT], name)
    elif name == "b.csv":
        data.write_text("question,anwser,contexts\nq,a,c\n")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.Table.from_pylist([MISSPELT]), data)
    with pytest.raises(
        InputError,
        match=r"no 'answer' field, but it has 'anwser'\. Rename it, or pass --map answer=anwser",
    ):
        run_file(data, profile="grounded")


def test_without_a_near_name_the_ways_on_are_said(tmp_path: Path) -> None:
    data = written(tmp_path, [{"question": "q", "contexts": ["c"], "name": "a", "value": 1}])
    with pytest.raises(InputError) as caught:
        run_file(data, profile="grounded")
    assert str(caught.value) == (
        f"{data} has no field 'answer'. It has 2 unused columns: name, value. "
        "To say which column holds it: --map answer=COLUMN. To score without it: "
        "--metrics context_precision,context_relevance or --allow-missing"
    )


@every_row("command", COMMANDS)
def test_a_file_without_any_known_field_is_not_sound(command: str, tmp_path: Path) -> None:
    data = written(tmp_path, [{"a": 1, "b": "x"}] * 2)
    for profile in ("grounded", "overlap"):
        code, text, files = ended(command, data, "--profile", profile)
        assert (code, files) == (2, []), profile
        assert "has no fields 'question', 'answer'" in text
        assert ". It has 2 unused columns: a, b. To say" in " ".join(text.split())


@every_row("command", COMMANDS)
def test_no_ground_truth_is_said_first_and_is_no_error(command: str, tmp_path: Path) -> None:
    code, text, _ = ended(command, written(tmp_path, [NO_TRUTH]), "--profile", "grounded")
    assert code == 0
    assert text.splitlines()[:2] == [NOT_MEASURED, FIELDS]
    assert text.count("not measured") == text.count("fields:") == 1


def test_what_was_found_is_told_before_the_first_row(tmp_path: Path) -> None:
    told: list[str] = []
    data = written(tmp_path, [NO_TRUTH] * 3)
    run_file(
        data,
        profile="grounded",
        on_found=told.append,
        on_row=lambda _: told.append("row"),
    )
    assert told == [NOT_MEASURED, FIELDS, *["row"] * 3]
    others = [{"query": FULL["question"], **NO_TRUTH}, FULL, FULL, *[FULL] * 9]
    del others[0]["question"]
    for number, row in enumerate(others):
        written(tmp_path, [row], f"c{number}.jsonl")
    told.clear()
    score_file(
        str(tmp_path / "c*.jsonl"), tmp_path / "s.jsonl", profile="grounded", on_found=told.append
    )
    assert told == [
        f"fields: {FIELDS.removeprefix('fields: ').replace('=question', '=query')}",
        f"fields of {tmp_path / 'c1.jsonl'}: {FIELDS.removeprefix('fields: ')}, "
        "ground truth=ground_truth",
    ]


def test_tables_and_reports_leave_out_what_was_not_measured(tmp_path: Path) -> None:
    data, page, text = written(tmp_path, [NO_TRUTH]), tmp_path / "p.html", tmp_path / "p.md"
    done = invoke("run", data, "--profile", "grounded", "--html", page, "--markdown", text)
    assert "faithfulness" in done.stdout
    assert "context_recall" not in done.stdout
    table = text.read_text().split("note:")[0]
    assert "faithfulness" in table
    assert "recall" not in table
    assert "not measured: " in text.read_text()
    assert "not measured: " in page.read_text()


def test_slices_plots_and_tests_leave_out_what_was_not_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [{**NO_TRUTH, "id": f"q{n}", "model": "ab"[n % 2]} for n in range(8)]
    found = evaluate_batch(rows, profile="grounded")
    figure = found.plot()
    shown = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "faithfulness" in shown
    assert "context_recall" not in shown
    assert [change.name for change in compare(found, found).changes] == [
        *found.shown_aggregates,
        "composite",
        "passed",
    ]
    data, page = written(tmp_path, rows), tmp_path / "p.html"
    before = tmp_path / "before.json"
    assert invoke("run", data, "--profile", "grounded", "--output", before).exit_code == 0
    flags = ("--profile", "grounded", "--slice-by", "model", "--html", page, "--baseline", before)
    done = invoke("run", data, *flags)
    assert done.exit_code == 0, done.stderr
    assert "recall" not in done.stdout
    view = run_file(data, profile="grounded", slice_by=["model"], view=True).view
    assert view is not None
    assert [list(one.means) for one in view.slices] == [[*found.shown_aggregates, "composite"]] * 2
    assert list(view.histograms) == [*found.shown_aggregates, "composite"]


@every_row("n_null, gap", [(5, ""), (6, "(6 % not measured)"), (12, "(12 % not measured)")])
def test_what_was_not_measured_stands_beside_the_mean(
    n_null: int, gap: str, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [FULL] * (100 - n_null) + [{**FULL, "answer": None}] * n_null
    data, page, text = written(tmp_path, rows), tmp_path / "p.html", tmp_path / "p.md"
    flags = ("--profile", "grounded", "--metrics", "faithfulness")
    done = invoke("run", data, *flags, "--html", page, "--markdown", text, env={"COLUMNS": "160"})
    [line] = [line for line in done.stdout.splitlines() if line.startswith("faithfulness")]
    # The terminal has the number of rows with a score at any width.
    assert f" {100 - n_null}/100 " in line
    for width in (50, 80, 100):
        done = invoke("run", data, *flags, env={"COLUMNS": f"{width}"})
        [line] = [line for line in done.stdout.splitlines() if line.startswith("faithfulness")]
        assert f" {100 - n_null}/100 " in line, width
    batch = evaluate_batch(rows, ["faithfulness"], profile="grounded")
    for report in (page.read_text(), text.read_text(), batch._repr_html_()):
        assert ("% not measured)" in report) == bool(gap)
        assert gap in report


def test_a_metric_without_a_threshold_shows_no_pass_rate(tmp_path: Path) -> None:
    """It lets every score pass, and 100 % of them would look like a verdict."""
    data, page, text = written(tmp_path, [FULL] * 3), tmp_path / "p.html", tmp_path / "p.md"
    flags = ("--profile", "grounded", "--metrics", "faithfulness,answer_relevance")
    done = invoke("run", data, *flags, "--html", page, "--markdown", text, env={"COLUMNS": "160"})
    lines = {line.split(" ")[0]: line.split() for line in done.stdout.splitlines() if line}
    heads = re.split(r"  +", next(line for line in done.stdout.splitlines() if "pass rate" in line))
    place = heads.index("pass rate") - len(heads)
    assert lines["answer_relevance"][place] == "–"
    assert lines["faithfulness"][place] == "1.00"
    table = text.read_text().replace("\\", "").splitlines()
    lines = {line.split("|")[1].strip(): line for line in table if "|" in line}
    assert "100%" not in lines["answer_relevance"]
    assert "100 %" in lines["faithfulness"]
    batch = evaluate_batch([FULL] * 3, ["faithfulness", "answer_relevance"], profile="grounded")
    for report, end in ((page.read_text(), "</article>"), (batch._repr_html_(), "</tr>")):
        parts = report.split(end)
        relevance = next(part for part in parts if _is_of(part, "answer_relevance"))
        faithfulness = next(part for part in parts if _is_of(part, "faithfulness"))
        assert "100 %" not in relevance.replace("\u00a0", " ")
        assert "100 %" in faithfulness.replace("\u00a0", " ")


def _is_of(part: str, metric: str) -> bool:
    return (
        f'data-metric="{metric}"' in part or re.search(rf"<t[dh][^>]*>{metric}<", part) is not None
    )


def test_a_baseline_on_standard_input_is_read_once(tmp_path: Path) -> None:
    data = written(tmp_path, [{**FULL, "id": f"q{n}"} for n in range(8)])
    page, before = tmp_path / "p.html", tmp_path / "before.json"
    assert invoke("run", data, "--output", before).exit_code == 0
    done = invoke("run", data, "--html", page, "--baseline", "-", input=before.read_bytes())
    assert done.exit_code == 0, done.stderr
    assert "not compared" not in page.read_text()


def test_results_keep_the_entry_of_what_was_not_measured(tmp_path: Path) -> None:
    report = run_file(written(tmp_path, [NO_TRUTH]), profile="grounded")
    found = report.result.aggregates["context_recall"]
    assert (found.n, found.n_rows) == (0, 1)
    assert "contextRecall" in report.result.summary_dict()["aggregates"]
    assert list(report.result.not_measured) == ["context_recall", "answer_correctness"]


@every_row(
    "flags",
    [
        ("--metrics", "faithfulness,context_recall"),
        ("--min-mean", "context_recall=0.5"),
    ],
)
def test_a_metric_that_was_asked_for_has_to_be_measured(
    flags: tuple[str, str], tmp_path: Path
) -> None:
    data = written(tmp_path, [NO_TRUTH])
    code, text, files = ended("run", data, "--profile", "grounded", *flags)
    assert (code, files) == (2, [])
    assert "no field 'ground_truth', and no unused column that could be it. To score" in " ".join(
        text.split()
    )


@every_row("name", ["b.jsonl", "b.json", "b.csv", "b.parquet"])
@every_row("missing", [("contexts",), ("question",), ("contexts", "ground_truth")])
def test_both_profiles_leave_out_what_no_row_has(
    missing: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    rows = [{name: value for name, value in FULL.items() if name not in missing}] * 3
    data = tmp_path / name
    if name == "b.csv":
        pd.DataFrame(rows).to_csv(data, index=False)
    elif name == "b.parquet":
        pd.DataFrame(rows).to_parquet(data)
    else:
        written(tmp_path, rows, name)
    for profile in PROFILES:
        specs = PROFILE_METRICS[profile]
        wanted = {m for m in METRIC_IDS if {*missing} & {*needed_fields(specs[m])}}
        batch = evaluate_batch(rows, profile=profile)
        for found in (batch, run_file(data, profile=profile, worst=3).result):
            assert set(found.not_measured) == wanted, profile
            assert set(found.shown_aggregates) == {*METRIC_IDS} - wanted
            assert found.n_rows == 3
        for metric in wanted:
            assert batch.results[0].metrics[metric].null_reason is NullReason.MISSING_FIELD
        kept = [column for column, m in enumerate(METRIC_IDS) if m not in wanted]
        full = evaluate_batch([FULL] * 3, profile="overlap").scores
        if profile == "overlap":
            assert batch.scores[:, kept].tobytes() == full[:, kept].tobytes()
        target = tmp_path / "scores.jsonl"
        score_file(data, target, profile=profile, restart=True)
        assert target.read_text().count('"missing_field"') == 3 * len(wanted)


@every_row("profile", ["grounded", "overlap"])
def test_a_field_that_another_column_may_be_is_not_left_out(profile: str, tmp_path: Path) -> None:
    data = written(tmp_path, [{**QUESTION_AND_ANSWER, "doc_ids": "d1"}])
    code, text, files = ended("run", data, "--profile", profile)
    assert (code, files) == (2, [])
    assert "no field 'contexts'. It has 1 unused column: doc_ids. To say which" in text
    assert "--allow-missing" in text
    code, text, _ = ended("run", data, "--profile", profile, "--allow-missing")
    assert code == 0
    assert text.startswith("not measured: faithfulness, ")


@every_row("profile", ["grounded", "overlap"])
def test_contexts_that_only_later_rows_have_are_not_passed_over(
    profile: str, tmp_path: Path
) -> None:
    """Without them in the first rows, the overlap profile leaves out what reads them."""
    rows = [QUESTION_AND_ANSWER] * 2000
    late: list[Mapping[str, Any]] = [*rows, FULL]
    data = written(tmp_path, late)
    if profile == "grounded":
        assert run_file(data, profile="grounded").result.aggregates["faithfulness"].n == 1
        return
    told = "contexts is given here, but the rows before it have none"
    for command, samples in ((evaluate_batch, late), (run_file, data)):
        with pytest.raises(InputError, match=told):
            command(samples)
    assert run_file(data, ["answer_relevance"]).result.n_rows == 2001


def test_a_misspelt_ground_truth_is_asked_about(tmp_path: Path) -> None:
    data = written(tmp_path, [{**NO_TRUTH, "ground_thruth": "x"}])
    with pytest.raises(InputError, match="Rename it, or pass --map ground_truth=ground_thruth"):
        run_file(data)


def test_columns_like_that_of_the_ground_truth_are_none(tmp_path: Path) -> None:
    rows = [{**NO_TRUTH, "ground_truth_contexts": ["x"], "groundedness": 1, "answer_time": 2}]
    assert run_file(written(tmp_path, rows)).passed is None


@every_row("command", COMMANDS)
def test_a_column_without_a_value_is_told_at_the_end(command: str, tmp_path: Path) -> None:
    data = written(tmp_path, [{**FULL, "answer": None}] * 3)
    code, text, files = ended(command, data, "--profile", "grounded")
    assert code == 2
    assert "null in every row, because no row has answer. To score" in " ".join(text.split())
    # Other metrics show that some row has the ground truth.
    null = "faithfulness, answer_relevance, answer_correctness, hallucination_rate"
    assert f"not measured: {null} (no answer)" in text
    assert len(files) == (command != "validate")
    # The rows that were written stay.
    assert all(path.read_text().count('"faithfulness') >= 3 for path in files)


def test_a_run_that_did_not_measure_does_not_pass(tmp_path: Path) -> None:
    data = written(tmp_path, [{**FULL, "answer": None}] * 3)
    with pytest.raises(NotMeasuredError) as caught:
        run_file(data, profile="grounded", min_pass_rate=0.0)
    assert caught.value.report.passed is False
    assert caught.value.report.unmeasured[0] == "faithfulness"
    with pytest.raises(NotMeasuredError):
        score_file(data, tmp_path / "s.jsonl", profile="grounded")
    assert (tmp_path / "s.jsonl").read_text().count("\n") == 3


def test_a_pass_rate_that_nothing_can_lower_is_no_gate(tmp_path: Path) -> None:
    data = written(tmp_path, [FULL])
    metrics, options = ["context_relevance"], {"profile": "grounded", "min_pass_rate": 1.0}
    with pytest.raises(InputError, match="no threshold is set for context_relevance"):
        run_file(data, metrics, **options)
    assert run_file(data, metrics, thresholds={"context_relevance": 0.0}, **options).passed
    # The composite score of the overlap profile has a limit.
    run_file(data, metrics, **{**options, "profile": "overlap"})


@every_row("command", COMMANDS)
def test_missing_fields_can_be_allowed(command: str, tmp_path: Path) -> None:
    data = written(tmp_path, [MISSPELT])
    code, text, _ = ended(command, data, "--profile", "grounded", "--allow-missing")
    assert code == 0
    assert "not measured: faithfulness, " in text
    assert "(no answer" in text


def test_a_field_that_only_later_rows_have_is_measured(tmp_path: Path) -> None:
    data = written(tmp_path, [NO_TRUTH] * 2000 + [FULL] * 3)
    report = run_file(data, profile="grounded")
    assert report.result.aggregates["context_recall"].n == 3
    assert not report.result.not_measured


def test_columns_that_later_lines_may_have_are_missed_at_the_end_alone(tmp_path: Path) -> None:
    """A header says what all rows have; the first lines of JSON do not."""
    first = {**QUESTION_AND_ANSWER, "topic": "books"}
    data = written(tmp_path, [first] * 2000 + [FULL] * 3)
    assert run_file(data, profile="grounded").result.aggregates["faithfulness"].n == 3
    written(tmp_path, [first] * 2000)
    code, text, [scores] = ended("score", data, "--profile", "grounded")
    assert code == 2
    assert "no field 'contexts'. It has 1 unused column: topic. To say which" in " ".join(
        text.split()
    )
    assert scores.read_text().count("\n") == 2000
    scores.unlink()
    data.unlink()
    data = tmp_path / "b.csv"
    data.write_text("question,answer,topic\n" + "q,a,t\n" * 3000)
    code, text, files = ended("score", data, "--profile", "grounded")
    assert (code, files) == (2, [])


@every_row("answer", ["...", None])
def test_a_resumed_run_knows_what_earlier_rows_lacked(answer: str | None, tmp_path: Path) -> None:
    """An answer without words is no missing field, though both scores are null."""
    rows: list[dict[str, Any]] = [{**FULL, "answer": answer}] * 2048 + [{**FULL, "question": 3}]
    data = written(tmp_path, [*rows, {**FULL, "answer": None}])
    options: dict[str, Any] = {"profile": "grounded", "checkpoint_rows": 1000}
    with pytest.raises(InputError, match="continue with --resume --skip-invalid"):
        score_file(data, tmp_path / "s.jsonl", ["faithfulness"], **options)
    options |= {"resume": True, "skip_invalid": True}
    if answer is None:
        with pytest.raises(NotMeasuredError, match="null in every row"):
            score_file(data, tmp_path / "s.jsonl", ["faithfulness"], **options)
    else:
        report = score_file(data, tmp_path / "s.jsonl", ["faithfulness"], **options)
        assert (report.n_resumed, report.result.n_rows) == (2048, 2049)
    assert (tmp_path / "s.jsonl").read_text().count("\n") == 2049


def test_a_name_that_is_nearly_right_is_asked_about_before_the_end(tmp_path: Path) -> None:
    code, text, files = ended(
        "score", written(tmp_path, [MISSPELT] * 3000), "--profile", "grounded"
    )
    assert (code, files) == (2, [])
    assert DID_YOU_MEAN in " ".join(text.split())


@every_row("command", COMMANDS)
def test_each_of_several_files_is_looked_at(command: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    written(folder, [FULL] * 2, "a.jsonl")
    second = written(folder, [MISSPELT] * 2, "b.jsonl")
    for profile in ("grounded", "overlap"):
        code, text, _ = ended(command, folder, "--profile", profile)
        assert code == 2, profile
        told = f"error: {second} {DID_YOU_MEAN}"
        assert told in " ".join(text.split()), profile


@every_row("lacking", ["contexts", "answer"])
@every_row("command", COMMANDS)
def test_fields_that_no_column_can_be_are_left_out(
    command: str, lacking: str, tmp_path: Path
) -> None:
    row = {"id": "q", **{name: text for name, text in NO_TRUTH.items() if name != lacking}}
    code, text, _ = ended(command, written(tmp_path, [row] * 2), "--profile", "grounded")
    assert code == 0
    [line] = [line for line in text.splitlines() if line.startswith("not measured: ")]
    assert line.startswith("not measured: faithfulness, ")
    assert f"(no {lacking}); context_recall, answer_correctness (no ground truth)" in line
    asked = "context_precision" if lacking == "contexts" else "answer_relevance"
    code, text, _ = ended(
        command, tmp_path / "b.jsonl", "--profile", "grounded", "--metrics", f"{asked}"
    )
    assert code == 2
    assert f"no field '{lacking}', and no unused column" in " ".join(text.split())


def test_a_file_of_which_nothing_can_be_measured_is_an_error(tmp_path: Path) -> None:
    code, text, files = ended(
        "run", written(tmp_path, [{"question": "q"}] * 2), "--profile", "grounded"
    )
    assert (code, files) == (2, [])
    assert "no fields 'answer', 'contexts' and 'ground_truth', and no unused column" in " ".join(
        text.split()
    )


def test_invalid_rows_that_are_skipped_do_not_hide_the_missing_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Rename it, or pass --map answer=anwser"):
        run_file(written(tmp_path, [MISSPELT] * 3), skip_invalid=True)


def test_standard_output_has_no_header_before_an_error(tmp_path: Path) -> None:
    data = written(tmp_path, [MISSPELT])
    done = invoke("score", data, "-", "--format", "csv", "--profile", "grounded")
    assert (done.exit_code, done.stdout) == (2, "")


def test_validate_tells_what_the_fields_allow(tmp_path: Path) -> None:
    data = written(tmp_path, [NO_TRUTH, NO_TRUTH, {**NO_TRUTH, "contexts": None}])
    done = invoke("validate", data, "--profile", "grounded")
    assert done.exit_code == 0
    assert done.stdout == "3 samples, 0 invalid\n"
    assert done.stderr.splitlines() == [
        NOT_MEASURED,
        FIELDS,
        "metrics: faithfulness, answer_relevance, context_precision, context_relevance, "
        "hallucination_rate",
        "1 sample without contexts",
        "3 samples without ground truth",
    ]


# ------------------------------------------------------------------------------------- in memory


def test_a_batch_names_the_misspelt_key() -> None:
    with pytest.raises(NotMeasuredError) as caught:
        evaluate_batch([MISSPELT] * 2, profile="grounded")
    assert str(caught.value) == (
        "the samples have no 'answer' field, but they have 'anwser'. Rename it, or pass "
        "mapping={'answer': 'anwser'}"
    )
    assert caught.value.report.n_rows == 2


def test_a_frame_names_the_misspelt_column() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(NotMeasuredError, match="pass mapping="):
        evaluate_batch(pd.DataFrame([MISSPELT] * 2), profile="grounded")


def test_rows_of_a_generator_say_what_is_null() -> None:
    with pytest.raises(NotMeasuredError, match="null in every row, because no row has answer"):
        evaluate_batch(({**FULL, "answer": None} for _ in range(2)), profile="grounded")


def test_a_batch_without_ground_truth_leaves_two_metrics_out() -> None:
    found = evaluate_batch([NO_TRUTH], profile="grounded")
    assert found.shown_notes == [NOT_MEASURED]
    assert "context_recall" in found.aggregates
    assert "context_recall" not in found.shown_aggregates


@every_row("make", [list, iter, pd.DataFrame, pa.Table.from_pylist], ids=str)
def test_a_batch_leaves_out_what_no_column_can_be(make: Any) -> None:
    found = evaluate_batch(make([QUESTION_AND_ANSWER] * 2), profile="grounded")
    assert list(found.shown_aggregates) == ["answer_relevance"]
    assert found.not_measured["faithfulness"] == "no contexts"
    assert found.not_measured["context_recall"] == "no ground truth"
    with pytest.raises(NotMeasuredError, match=r"unused column: (topic|text)"):
        evaluate_batch(make([{**QUESTION_AND_ANSWER, "topic": "t"}]), profile="grounded")


def test_a_batch_may_allow_missing_fields() -> None:
    found = evaluate_batch([MISSPELT], profile="grounded", allow_missing=True)
    assert found.not_measured["faithfulness"] == "no answer"
    assert found.aggregates["context_precision"].n == 1


def test_an_empty_batch_stays_as_it_is() -> None:
    assert evaluate_batch([], profile="grounded").n_rows == 0


@every_row("profile", ["grounded", "overlap"])
def test_show_leaves_out_what_the_run_left_out(profile: str, tmp_path: Path) -> None:
    """Regression: its table and its worst rows had the metrics that could not be measured."""
    data, result = written(tmp_path, [NO_TRUTH] * 3), tmp_path / "out.json"
    invoke("run", data, "--profile", profile, "--output", result)
    shown = invoke("show", result).stdout
    assert f"note: {NOT_MEASURED}\n" in shown
    assert "context_recall" not in shown.replace(NOT_MEASURED, "")


# --------------------------------------------------------------------- texts that some rows lack


def half(folder: Path, lost: Mapping[str, Any]) -> Path:
    """A long file whose second half has lost its answers."""
    rows = [{**FULL, "id": f"r{row}"} for row in range(1200)]
    return written(folder, [row if at < 600 else {**row, **lost} for at, row in enumerate(rows)])


LIMITS = ("--profile", "grounded", "--min-pass-rate", "0.95")
NO_ANSWERS = "600 of 1,200 samples have no answer"


def test_gates_do_not_pass_over_samples_without_an_answer(tmp_path: Path) -> None:
    """Such samples passed by context_recall alone."""
    data, out = half(tmp_path, {"answer": None}), tmp_path / "out.json"
    done = invoke("run", data, *LIMITS, "--output", out)
    assert done.exit_code == 1
    assert f"FAIL  {NO_ANSWERS}; to accept that, add --allow-missing" in done.stdout
    assert f"note: {NO_ANSWERS}, so these metrics are null for them: faithf" in done.stderr
    assert invoke("run", data, *LIMITS, "--allow-missing").exit_code == 0
    # A limit on a metric that does not read the answer is not about answers.
    for limit, code in (("context_recall=0.5", 0), ("faithfulness=0.5", 1)):
        found = invoke("run", data, "--profile", "grounded", "--min-mean", limit)
        assert found.exit_code == code, limit
    done = invoke("gate", out, "--min-pass-rate", "0.95")
    assert done.exit_code == 1
    assert f"{NO_ANSWERS}; to accept that, add --max-null-rate 1" in done.stdout
    assert invoke("gate", out, "--min-pass-rate", "0.95", "--max-null-rate", "1").exit_code == 0
    report = invoke("report", out, "--min-pass-rate", "0.95").stdout
    assert f"{NO_ANSWERS}; to accept that" in " ".join(report.split())


@every_row("command", ["run", "score"])
def test_a_field_that_is_renamed_within_a_file_is_named(command: str, tmp_path: Path) -> None:
    lost = {"answer": None, "response": FULL["answer"]}
    code, text, _ = ended(command, half(tmp_path, lost), "--profile", "grounded")
    assert code == 0
    assert (
        "b.jsonl, line 601 (\"r600\"): answer is missing, but the row has 'response'. To use it, "
        "rename the field to 'answer'"
    ) in text
    assert f"note: {NO_ANSWERS}" in text


def test_a_renamed_field_is_found_after_a_row_that_has_nothing_in_its_place(tmp_path: Path) -> None:
    lost = {**FULL, "answer": None}
    rows = [*[FULL] * 5, lost, {**lost, "response": "Jane"}]
    _, text, _ = ended("run", written(tmp_path, rows), "--profile", "grounded")
    assert "line 7: answer is missing, but the row has 'response'" in text


def test_gates_on_files_infer_from_nulls_of_our_own_runs_alone(tmp_path: Path) -> None:
    no_question = {name: value for name, value in FULL.items() if name != "question"}
    rows = [*[FULL] * 7, {**FULL, "answer": None}, no_question]
    data = written(tmp_path, [{**row, "id": str(at)} for at, row in enumerate(rows)])
    limits = (
        ("--min-mean", "faithfulness=0.1"),
        ("--min-mean", "faithfulness=0.1", "--max-null-rate", "context_precision=0.5"),
        ("--min-mean", "faithfulness=0.1", "--max-null-rate", "faithfulness=0.5"),
        ("--min-pass-rate", "0.1"),
    )
    for name in ("out.json", "out.jsonl"):
        invoke("run", data, "--profile", "grounded", "--output", tmp_path / name)
        codes = [invoke("gate", tmp_path / name, *each).exit_code for each in limits]
        assert codes == [1, 1, 0, 1], name
    # Nothing that decides reads the question: the row that lacks it passes.
    (tmp_path / "b.jsonl").unlink()
    asked = written(
        tmp_path, [{**row, "id": str(at)} for at, row in enumerate([FULL, no_question])]
    )
    for name in ("asked.json", "asked.jsonl"):
        invoke("run", asked, "--profile", "grounded", "--output", tmp_path / name)
        assert invoke("gate", tmp_path / name, "--min-pass-rate", "0.1").exit_code == 0
    table = tmp_path / "hand.csv"
    table.write_text("id,faithfulness,answer_relevance\na,1,1\nb,,1\n")
    assert invoke("gate", table, "--min-mean", "faithfulness=0.5").exit_code == 0


def test_fields_that_were_there_before_are_not_named(tmp_path: Path) -> None:
    rows = [{**FULL, "model": "m"}] * 600 + [{**FULL, "model": "m", "answer": None}] * 600
    _, text, _ = ended("run", written(tmp_path, rows), "--profile", "grounded")
    assert f"note: {NO_ANSWERS}" in text
    assert "answer is missing, but" not in text
